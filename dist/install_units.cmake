# Run by `make install`, when the prefix is known: systemd's units with the paths of the
# programs in them, and a configuration where none is yet.
# Wants SOURCE, BINARY, BINDIR, DOCDIR (relative to the prefix).

set(prefix ${CMAKE_INSTALL_PREFIX})
set(bindir ${prefix}/${BINDIR})
set(docdir ${prefix}/${DOCDIR})
set(confdir ${prefix}/etc/yonder)
if(prefix STREQUAL "/usr")
    set(confdir /etc/yonder)
endif()

configure_file(${SOURCE}/dist/yonder-server.service.in
    ${BINARY}/dist/yonder-server.service @ONLY)
# systemd looks for units in /usr/local/lib and in /usr/lib
file(INSTALL ${BINARY}/dist/yonder-server.service ${SOURCE}/dist/yonder-server.socket
    DESTINATION ${prefix}/lib/systemd/system)
if(NOT EXISTS $ENV{DESTDIR}${confdir}/yonder.conf)
    file(INSTALL ${SOURCE}/yonder.conf DESTINATION ${confdir}
        PERMISSIONS OWNER_READ OWNER_WRITE)
endif()
