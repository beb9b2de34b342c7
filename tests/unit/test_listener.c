/* link: server --wrap=bind --wrap=listen
 * Unix sockets: their file never has more permissions than unixsocketperm, and those
 * before anybody could connect.
 */
#include "server/listener.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/server.h"

int __real_bind(int fd, const struct sockaddr *address, socklen_t len);
int __real_listen(int fd, int backlog);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_listen(int fd, int backlog);

static char folder[] = "/tmp/yn-listener-XXXXXX";
static char path[64];
static unsigned mode_bound, mode_listening;

static unsigned mode_of_file(void)
{
    struct stat info;
    return stat(path, &info) == 0 ? (unsigned)info.st_mode & 0777 : 0;
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len)
{
    int result = __real_bind(fd, address, len);
    if (address->sa_family == AF_UNIX)
        mode_bound = mode_of_file();
    return result;
}

int __wrap_listen(int fd, int backlog)
{
    mode_listening = mode_of_file();
    return __real_listen(fd, backlog);
}

/* Starts and stops a server with such permissions under such an umask. */
static void serve(const char *permissions, mode_t mask)
{
    static struct server server;
    struct config config;
    char text[256], error[CONFIG_ERROR_MAX];
    memset(&server, 0, sizeof server);
    mode_bound = mode_listening = 07777;
    assert_true(config_init(&config));
    snprintf(text, sizeof text,
             "bind \"\"\nthreads 1\nloglevel warning\nunixsocket %s\nunixsocketperm %s\n",
             path, permissions);
    assert_true(
        config_load_text(&config, (struct yn_bytes){text, strlen(text)}, "text", error));
    mode_t before = umask(mask);
    assert_true(server_init(&server, &config));
    assert_int_equal(umask(before), mask);
    server_stop(&server);
    server_run(&server);
    server_clear(&server);
    assert_int_equal(mode_of_file(), 0); /* the file is gone */
}

static void test_permissions_from_the_start(void **state)
{
    (void)state;
    static const char *const wanted[] = {"700", "770", "600", "777", "660", "1"};
    static const mode_t masks[] = {0, 022, 077, 0777};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        for (size_t j = 0; j < sizeof masks / sizeof masks[0]; j++) {
            serve(wanted[i], masks[j]);
            assert_int_equal(mode_bound, strtoul(wanted[i], NULL, 8));
            assert_int_equal(mode_listening, mode_bound);
        }
    }
}

static void test_without_permissions_the_umask_says(void **state)
{
    (void)state;
    serve("0", 027);
    assert_int_equal(mode_bound, 0750);
    assert_int_equal(mode_listening, 0750);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permissions_from_the_start),
        cmocka_unit_test(test_without_permissions_the_umask_says),
    };
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/s", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
