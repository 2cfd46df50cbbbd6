"""Make the certificates and keys of a federation: one for the server, one key for each client.

    python make_certificates.py --folder certificates --host 127.0.0.1 --max-samples 10000

writes

    ca.crt                       for everybody: proves that the server is the server
    ca.key                       for nobody: signs certificates; keep it offline
    server.crt, server.key       for the SuperLink
    node-0, node-1, ...          for one SuperNode each: its private key
    node-0.pub, node-1.pub, ...  for the SuperLink's operator, who registers them
    nodes.toml                   for the server: which key is which client, and how many samples
                                 each may claim; change these to what you know of each site

Private keys can be read by their owner alone and are not encrypted.
"""

import argparse
import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

CURVE = ec.SECP384R1()  # what SuperNodes authenticate with


def main() -> None:
    """Write all files, none of which may be there already."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("certificates"))
    parser.add_argument(
        "--host",
        action="append",
        help="address or name that clients reach the SuperLink by; may be repeated",
    )
    parser.add_argument("--nodes", type=int, default=2, help="number of clients")
    parser.add_argument(
        "--max-samples",
        type=int,
        required=True,
        help="largest number of samples that a client may claim, for nodes.toml",
    )
    parser.add_argument("--days", type=int, default=365, help="how long certificates are valid")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)

    authority, authority_key = make_authority(given.days)
    certificate, server_key = make_server(
        authority, authority_key, given.host or ["127.0.0.1", "localhost"], given.days
    )
    write(given.folder / "ca.crt", authority.public_bytes(Encoding.PEM))
    write(given.folder / "ca.key", as_pem(authority_key), is_secret=True)
    write(given.folder / "server.crt", certificate.public_bytes(Encoding.PEM))
    write(given.folder / "server.key", as_pem(server_key), is_secret=True)
    table = ""
    for k in range(given.nodes):
        key = ec.generate_private_key(CURVE)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        write(given.folder / f"node-{k}", private, is_secret=True)
        write(given.folder / f"node-{k}.pub", public + b"\n")
        table += f'[[node]]\nkey = "{public.decode()}"\npartition = {k}\n'
        table += f"max-samples = {given.max_samples}\n\n"
    write(given.folder / "nodes.toml", table.encode())
    print(f"wrote certificates, {given.nodes} keys and nodes.toml to {given.folder}")


def make_authority(days: int) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return a certificate that signs others, and its key."""
    key = ec.generate_private_key(CURVE)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Federation authority")])
    builder = (
        certificate_of(name, name, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return builder.sign(key, hashes.SHA384()), key


def make_server(
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    hosts: list[str],
    days: int,
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return the SuperLink's certificate for these addresses, and its key."""
    key = ec.generate_private_key(CURVE)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
    signer = authority_key.public_key()
    builder = (
        certificate_of(name, authority.subject, key.public_key(), days)
        .add_extension(
            x509.SubjectAlternativeName([general_name(h) for h in hosts]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.OID_SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )
    return builder.sign(authority_key, hashes.SHA384()), key


def certificate_of(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    """Return the beginning of a certificate."""
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))  # clocks differ
        .not_valid_after(now + timedelta(days=days))
    )


def usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """Return what a key is for."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def general_name(host: str) -> x509.GeneralName:
    """Return an address or a name as certificates write it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def as_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as text."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def write(path: Path, content: bytes, *, is_secret: bool = False) -> None:
    """Write a new file; an existing one is an error, since somebody may rely on it."""
    path.touch(mode=0o600 if is_secret else 0o644, exist_ok=False)
    path.write_bytes(content)


if __name__ == "__main__":
    main()
