"""Files that other programs made: a line of shell or a function for each format."""

from __future__ import annotations

import base64
import marshal
import os
import pickle
import plistlib
import random
import shelve
import shutil
import sqlite3
import struct
import subprocess
import sys
import wave
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
TEXT = b"Dear Ada, the engine weaves patterns just as the loom weaves flowers.\n" * 300
# Debian keeps some programs off the usual path of search.
_FOLDERS = (os.environ.get("PATH", ""), "/usr/sbin", "/sbin")
_PATH = os.pathsep.join([*_FOLDERS, *map(str, Path("/usr/lib/postgresql").glob("*/bin"))])


class CannotMakeError(Exception):
    """The program that makes the format fails here."""


class MissingProgramError(CannotMakeError):
    """The program that makes the format is not installed."""


@dataclass(frozen=True)
class Recipe:
    """How a format is made: by shell in a folder with `text`, `noise` and `tree`, as `made`."""

    needs: str
    line: str


def _recipes(**lines: str) -> dict[str, Recipe]:
    """Name the programs by their lines: what stands first, or is said before a colon."""
    found = {}
    for name, told in lines.items():
        before, colon, after = told.partition(" :: ")
        line = after if colon else before
        found[name.replace("_", "-")] = Recipe(before if colon else line.split()[0], line)
    return found


_ARCHIVES = _recipes(
    tar_v7="tar --format=v7 -cf made tree",
    tar_ustar="tar --format=ustar -cf made tree",
    tar_pax="tar --format=pax -cf made tree",
    tar_gnu="tar --format=gnu -cf made tree",
    tar_gzip="tar -czf made tree",
    cpio_newc="cpio :: find tree | cpio -o -H newc > made",
    cpio_odc="cpio :: find tree | cpio -o -H odc > made",
    cpio_binary="cpio :: find tree | cpio -o -H bin > made",
    ar="ar rc made text noise",
    zip="bsdtar --format=zip -cf made tree",
    mtree="bsdtar --format=mtree -cf made tree",
    xar="bsdtar --format=xar -cf made tree",
    shar="bsdtar --format=shar -cf made tree",
    warc="bsdtar --format=warc -cf made tree",
    zip_of_7z="7zz a -tzip -bso0 made.zip tree && mv made.zip made",
    seven_z="7zz a -bso0 made.7z tree && mv made.7z made",
    seven_z_encrypted="7zz a -psecret -mhe=on -bso0 made.7z tree && mv made.7z made",
    wim="7zz a -twim -bso0 made.wim tree && mv made.wim made",
    gzip="gzip -c text > made",
    bzip2="bzip2 -c text > made",
    xz="xz -c text > made",
    lzma="xz --format=lzma -c text > made",
    xz_raw="xz --format=raw -c text > made",
    lz4="lz4 -q text made",
    lz4_legacy="lz4 -q -l text made",
    zstd="zstd -q text -o made",
    zstd_noise="zstd -q noise -o made",
    brotli="brotli text -o made",
    lzip="lzip -c text > made",
    lzop="lzop -o made text",
    compress="bsdtar -cZf made tree",
    uuencode="bsdtar --uuencode -cf made tree",
)
_GPG = "mkdir -m 700 g && export GNUPGHOME=$PWD/g && gpg -q --batch --pinentry-mode loopback"
_KEY = "--passphrase '' --quick-gen-key ada@example.org ed25519 default never"
_CERT = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a"
_SECRETS = _recipes(
    gpg_symmetric=f"gpg :: {_GPG} --passphrase x -o made -c noise; gpgconf --kill all",
    gpg_key=f"gpg :: {_GPG} {_KEY}; gpg -q --export -o made; gpgconf --kill all",
    gpg_key_armoured=f"gpg :: {_GPG} {_KEY}; gpg -q -a --export -o made; gpgconf --kill all",
    gpg_keybox=f"gpg :: {_GPG} {_KEY}; gpgconf --kill all; mv g/pubring.kbx made",
    openssl_enc="openssl enc -aes-256-ctr -pbkdf2 -k secret -in text -out made",
    openssl_enc_bare="openssl enc -aes-256-ctr -K 00 -iv 00 -in text -out made",
    openssl_key_der="openssl genpkey -algorithm ed25519 -outform DER -out made",
    openssl_ec_key_der="openssl ecparam -name prime256v1 -genkey -outform DER -out made",
    openssl_cert_pem=f"openssl :: {_CERT} -keyout k -out made",
    openssl_cert_der=f"openssl :: {_CERT} -keyout k -outform DER -out made",
    openssl_pkcs12=f"openssl :: {_CERT} -keyout k -out c && "
    "openssl pkcs12 -export -inkey k -in c -passout pass:x -out made",
    openssl_digest="openssl dgst -sha512 -binary -out made text",
    ssh_key="ssh-keygen -q -t ed25519 -N '' -f made",
    ssh_key_public="ssh-keygen -q -t ed25519 -N '' -f k && mv k.pub made",
)
_GIT = (
    "git :: git init -q -b main r && cd r && cp ../text ../noise . && git add . && "
    "git -c user.name=a -c user.email=a@example.org commit -qm one"
)
_REPOSITORIES = _recipes(
    git_index=f"{_GIT} && mv .git/index ../made",
    git_object=f"{_GIT} && cat $(find .git/objects -type f | sort | head -n1) > ../made",
    git_pack=f"{_GIT} && git gc -q && cat .git/objects/pack/*.pack > ../made",
    git_pack_index=f"{_GIT} && git gc -q && cat .git/objects/pack/*.idx > ../made",
    git_bundle=f"{_GIT} && git bundle create -q ../made --all",
    git_archive=f"{_GIT} && git archive -o ../made.zip HEAD && mv ../made.zip ../made",
)
_PAIRS = "for i in $(seq 200); do echo k$i; echo v$i; done"
_LDB = 'for i in $(seq 50); do echo "k$i ==> v$i"; done | ldb --db=d --create_if_missing load'
_DATABASES = _recipes(
    berkeley_db_btree=f"db_load :: {{ {_PAIRS}; }} | db_load -T -t btree made",
    berkeley_db_hash=f"db_load :: {{ {_PAIRS}; }} | db_load -T -t hash made",
    gdbm="gdbmtool made store key value",
    tdb="tdbtool :: printf 'create made\\nstore k v\\n' | tdbtool",
    lmdb=f"mdb_load :: {{ {_PAIRS}; }} | mdb_load -n -T made",
    rocksdb_log=f"ldb :: {_LDB} && cat d/*.log > made",
    rocksdb_table=f"ldb :: {_LDB} && ldb --db=d compact && cat d/*.sst > made",
    rocksdb_manifest=f"ldb :: {_LDB} && cat d/MANIFEST-* > made",
    rrd="rrdtool create made --step 60 DS:a:GAUGE:120:0:1 RRA:AVERAGE:0.5:1:100",
    hdf5="h5import :: seq -f %.1f 100 > n && h5import n -d 10,10 -p a -o made",
    terminfo="tic -o d /dev/stdin <<< 'odd|odd one, am, cols#80, bel=^G,' && cp d/*/odd made",
    gettext='msgfmt -o made - <<< $\'msgid "one"\\nmsgstr "eins"\'',
)
_SPARSE = "truncate -s {} made && "
_IMAGES = _recipes(
    **{
        kind.replace("-", "_"): f"qemu-img create -q -f {kind} {more} made 16M"
        for kind, more in (
            ("qcow", ""),
            ("qcow2", ""),
            ("qed", ""),
            ("vmdk", ""),
            ("vdi", ""),
            ("vhdx", ""),
            ("vpc", ""),
            ("parallels", ""),
        )
    },
    vpc_fixed="qemu-img create -q -f vpc -o subformat=fixed made 1M",
    qcow2_of_noise="qemu-img convert -f raw -O qcow2 noise made",
    iso="xorriso -as mkisofs -quiet -o made tree",
    squashfs="mksquashfs tree made -quiet -no-progress",
    erofs="mkfs.erofs -Enoinline_data made tree",
    cramfs="mkfs.cramfs tree made",
    minix=f"mkfs.minix :: {_SPARSE.format('1M')} mkfs.minix made",
    bfs=f"mkfs.bfs :: {_SPARSE.format('1M')} mkfs.bfs made",
    ext2=f"mkfs.ext2 :: {_SPARSE.format('1M')} mkfs.ext2 -q made",
    ext4=f"mkfs.ext4 :: {_SPARSE.format('8M')} mkfs.ext4 -q -d tree made",
    xfs=f"mkfs.xfs :: {_SPARSE.format('300M')} mkfs.xfs -q made",
    btrfs=f"mkfs.btrfs :: {_SPARSE.format('120M')} mkfs.btrfs -q made",
    f2fs=f"mkfs.f2fs :: {_SPARSE.format('64M')} mkfs.f2fs -q made",
    fat=f"mkfs.vfat :: {_SPARSE.format('1M')} mkfs.vfat made",
    fat32=f"mkfs.vfat :: {_SPARSE.format('40M')} mkfs.vfat -F32 made",
    exfat=f"mkfs.exfat :: {_SPARSE.format('8M')} mkfs.exfat made",
    ntfs=f"mkfs.ntfs :: {_SPARSE.format('4M')} mkfs.ntfs -qF made",
    swap=f"mkswap :: {_SPARSE.format('1M')} chmod 600 made && mkswap -q made",
    partitions_gpt=f"sfdisk :: {_SPARSE.format('4M')} echo 'label: gpt' | sfdisk -q made",
    partitions_dos=f"sfdisk :: {_SPARSE.format('4M')} echo 'label: dos' | sfdisk -q made",
    luks1=f"cryptsetup :: {_SPARSE.format('4M')} echo x | cryptsetup -q luksFormat --type luks1 "
    "--pbkdf-force-iterations 1000 made -",
    luks2=f"cryptsetup :: {_SPARSE.format('20M')} echo x | cryptsetup -q luksFormat --type luks2 "
    "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 made -",
    luks2_header=f"cryptsetup :: {_SPARSE.format('16M')} touch d && truncate -s 1M d && echo x | "
    "cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "
    "--header made d -",
)
_INITDB = "initdb -D $PWD/d -U a -A trust -E UTF8 --no-sync --no-instructions"
_AS_OTHER = f"if [ $(id -u) = 0 ]; then chmod 777 .; runuser -u nobody -- {_INITDB}; else {_INITDB}"
_PLAIN = _recipes(
    postgresql_control=f"initdb :: {_AS_OTHER}; fi && cp d/global/pg_control made && "
    "cat d/base/1/pg_filenode.map > map && rm -rf d",
    elf="cp $(type -P true) made",
    object_file="cc -c -x c -o made - <<< 'int f(void) { return 7; }'",
    script="printf '#!/bin/sh\\necho hello\\n' > made; chmod +x made",
    ok="printf 'ok\\n' > made",
    one_byte="printf x > made",
    one_nul_then_one="printf '\\0\\1' > made",
    csv="seq -s, 1 3000 > made",
    xml="echo '<a><b>1</b></a>' > made",
    json="echo '{\"a\": [1, 2, 3]}' > made",
    diff="diff -u text /dev/null > made || test -s made",
    base64="base64 noise > made",
    hexadecimal="od -An -tx1 noise > made",
    utf_16="iconv -f UTF-8 -t UTF-16 -o made text",
    utf_16_be="iconv -f UTF-8 -t UTF-16BE -o made text",
    utf_32="iconv -f UTF-8 -t UTF-32 -o made text",
    ebcdic="iconv -f UTF-8 -t IBM037 -o made text",
    random_bytes="cp noise made",
    random_between_zeros="truncate -s 1M made && cat noise >> made && truncate -s 2M made",
    random_a_byte_off="printf '\\0' > made && cat noise >> made",
    last_byte="truncate -s 1M made && printf x >> made",
)


def _sqlite(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "made")) as database, database:
        database.execute("create table people as select zeroblob(9000) as bytes")


def _sqlite_wal(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "d")) as database, database:
        database.execute("pragma journal_mode = wal")
        database.execute("create table people(name text)")
        shutil.copyfile(folder / "d-wal", folder / "made")


def _parquet(folder: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - Loads slowly.
    from pyarrow import parquet  # noqa: PLC0415 - The same.

    parquet.write_table(pa.table({"a": list(range(999))}), folder / "made")


def _arrow(folder: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - Loads slowly.

    table = pa.table({"a": list(range(999))})
    with pa.OSFile(str(folder / "made"), "wb") as file, pa.ipc.new_file(file, table.schema) as to:
        to.write_table(table)


def _npy(folder: Path) -> None:
    with (folder / "made").open("wb") as file:
        np.save(file, np.arange(9000))


def _npz(folder: Path) -> None:
    with (folder / "made").open("wb") as file:
        np.savez_compressed(file, a=np.arange(9000))


def _shelve(folder: Path) -> None:
    with shelve.open(str(folder / "d")) as kept:  # noqa: S301 - Only written.
        kept["a"] = list(range(99))
    next(folder.glob("d*")).rename(folder / "made")


def _wav(folder: Path) -> None:
    with wave.open(str(folder / "made"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(np.arange(8000, dtype="<i2").tobytes())


def _picture(kind: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        from PIL import Image  # noqa: PLC0415 - Loads slowly.

        Image.linear_gradient("L").save(folder / "made", format=kind)

    return make


def _pdf(folder: Path) -> None:
    from fpdf import FPDF  # noqa: PLC0415 - Loads slowly.

    page = FPDF()
    page.add_page()
    page.output(str(folder / "made"))


def _xlsx(folder: Path) -> None:
    from openpyxl import Workbook  # noqa: PLC0415 - Loads slowly.

    Workbook().save(folder / "made")


def _pyc(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", "import py_compile as c; c.compile('m.py', cfile='made')"],
        cwd=folder,
        check=True,
    )


def _boot_sector() -> bytes:
    """Return what BIOS loads: it jumps to itself."""
    return b"\xfa\xeb\xfe" + bytes(507) + b"\x55\xaa"


def _bytes(data: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "made").write_bytes(data)

    return make


_PYTHON: dict[str, Callable[[Path], None]] = {
    "sqlite": _sqlite,
    "sqlite-wal": _sqlite_wal,
    "parquet": _parquet,
    "arrow": _arrow,
    "npy": _npy,
    "npz": _npz,
    "shelve": _shelve,
    "wav": _wav,
    "png": _picture("PNG"),
    "bmp": _picture("BMP"),
    "tiff": _picture("TIFF"),
    "pdf": _pdf,
    "xlsx": _xlsx,
    "pyc": _pyc,
    "marshal": _bytes(marshal.dumps(list(range(9000)))),
    "plist": _bytes(plistlib.dumps({"a": [1, 2]}, fmt=plistlib.FMT_BINARY)),
    "boot-sector": _bytes(_boot_sector()),
    "numbers-of-16-bits": _bytes(np.arange(9000, dtype=">u2").tobytes()),
    "numbers-of-64-bits": _bytes(np.arange(9000, dtype="<u8").tobytes()),
    "floats": _bytes(np.linspace(0, 1, 9000).tobytes()),
    "counters": _bytes(struct.pack("<4096I", *range(4096))),
    "base85": _bytes(base64.b85encode(TEXT)),
    **{
        f"pickle-{version}": _bytes(pickle.dumps([list(range(9000)), "a"], protocol=version))
        for version in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}
_SHELL = {
    **_ARCHIVES,
    **_SECRETS,
    **_REPOSITORIES,
    **_DATABASES,
    **_IMAGES,
    **_PLAIN,
}
FORMATS = sorted({**_SHELL, **_PYTHON})


def make(name: str, folder: Path) -> Path:
    """Make a file of the format in a new folder."""
    folder.mkdir(exist_ok=True)
    noise = random.Random(name).randbytes(64 << 10)  # noqa: S311 - No secret.
    (folder / "tree").mkdir(exist_ok=True)
    (folder / "m.py").write_text("def f():\n    return 7\n")
    for path in (folder, folder / "tree"):
        (path / "text").write_bytes(TEXT)
        (path / "noise").write_bytes(noise)
    if name in _PYTHON:
        _PYTHON[name](folder)
    else:
        _by_shell(_SHELL[name], folder)
    return folder / "made"


def _by_shell(recipe: Recipe, folder: Path) -> None:
    if shutil.which(recipe.needs, path=_PATH) is None and recipe.needs not in {"printf", "echo"}:
        raise MissingProgramError(f"there is no {recipe.needs}")
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", recipe.line],
        cwd=folder,
        env={**os.environ, "PATH": _PATH, "LC_ALL": "C.UTF-8", "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise CannotMakeError(f"{recipe.line}: {done.returncode}: {done.stderr!r}")
