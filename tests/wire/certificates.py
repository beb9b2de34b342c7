"""Certificates for tests, made by the openssl command."""
import subprocess


class Authority:
    """Vouches for certificates; everything lies in one folder."""

    def __init__(self, folder, name="ca"):
        self.folder, self.name = folder, name
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"{name}.crt"
        self._run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                  "-nodes", "-keyout", folder / f"{name}.key", "-out", self.file,
                  "-days", "30", "-subj", f"/CN={name}")

    def _run(self, *words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def issue(self, name, days=30, passphrase=None, end=None):
        """Returns (certificate, key). With negative days it has expired; end is a time
        such as 20300101000000Z."""
        cert, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        request, extra = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        hide = ["-nodes"] if passphrase is None else ["-passout", f"pass:{passphrase}"]
        self._run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", *hide,
                  "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        extra.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n")
        if days >= 0 and end is None:
            self._run("x509", "-req", "-in", request, "-CA", self.file,
                      "-CAkey", self.folder / f"{self.name}.key", "-CAcreateserial",
                      "-days", days, "-extfile", extra, "-out", cert)
        else:
            self._issue_until(end or "20200201000000Z", request, extra, cert)
        return cert, key

    def _issue_until(self, end, request, extra, cert):
        """By `openssl ca`, which takes dates."""
        folder = self.folder / "expired"
        folder.mkdir(exist_ok=True)
        (folder / "index.txt").write_text("")
        (folder / "serial").write_text("77\n")
        config = folder / "ca.cnf"
        config.write_text(
            "[ca]\ndefault_ca = it\n[it]\n"
            f"database = {folder}/index.txt\nserial = {folder}/serial\n"
            f"new_certs_dir = {folder}\ndefault_md = sha256\npolicy = any\n"
            "unique_subject = no\n[any]\ncommonName = supplied\n")
        self._run("ca", "-batch", "-config", config, "-in", request, "-cert", self.file,
                  "-keyfile", self.folder / f"{self.name}.key", "-extfile", extra,
                  "-startdate", "20200101000000Z", "-enddate", end,
                  "-out", cert, "-notext")
