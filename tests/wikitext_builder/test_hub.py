"""A finished dataset goes to Hugging Face's hub by the documented command; here a stand-in takes it."""

import base64
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.mediawiki.loopback import send

NAME = "you/wikitext-demo"


class Hub(http.server.BaseHTTPRequestHandler):
    """What `hf upload` asks of the hub; each file comes in the commit itself."""

    files: dict[str, bytes]

    def do_POST(self) -> None:
        body = self._body()
        here = f"http://{self.headers['Host']}/datasets/{NAME}"
        if self.path == "/api/repos/create":
            send(self, {"url": here})
        elif self.path == f"/api/datasets/{NAME}/preupload/main":
            asked = json.loads(body)["files"]
            plain = {"uploadMode": "regular", "shouldIgnore": False}
            send(self, {"files": [{"path": one["path"], **plain} for one in asked]})
        elif self.path == f"/api/datasets/{NAME}/commit/main":
            for line in body.splitlines():
                if (part := json.loads(line))["key"] == "file":
                    self.files[part["value"]["path"]] = base64.b64decode(part["value"]["content"])
            send(self, {"commitUrl": f"{here}/commit/{'0' * 40}", "commitOid": "0" * 40, "success": True})
        else:  # it checks the card's head, for example
            send(self, {"errors": [], "warnings": []})

    def do_GET(self) -> None:
        send(self, {})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    Hub.files = {}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.slow
def test_a_dataset_goes_to_the_hub_with_its_card_and_licence(sample: Path, tmp_path: Path, hub: str) -> None:
    pytest.importorskip("huggingface_hub")
    shown = re.findall(r"^\$ (hf upload .*)$", (ROOT / "docs" / "building.md").read_text(), re.MULTILINE)
    assert len(shown) == 1
    program, *words = shlex.split(shown[0])
    assert words[:3] == ["upload", NAME, "wikitext-demo"]
    shutil.copytree(sample / "demo", tmp_path / "wikitext-demo")
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *words],
        cwd=tmp_path,
        env={
            **os.environ,
            "HF_ENDPOINT": hub,
            "HF_TOKEN": "hf_none",
            "HF_HOME": str(tmp_path / "home"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_OFFLINE": "0",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    own = {path.relative_to(sample / "demo").as_posix(): path for path in (sample / "demo").rglob("*")}
    assert Hub.files == {name: path.read_bytes() for name, path in own.items() if path.is_file()}
    assert {"README.md", "LICENSE", "attribution.tsv"} <= Hub.files.keys()
