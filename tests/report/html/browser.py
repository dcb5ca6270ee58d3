"""A headless Chromium over the WebDriver protocol: what the tests of the page ask of a browser, and no more."""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = "" if CHROMIUM and DRIVER else "needs a chromium and its chromedriver on PATH"
_FLAGS = (
    "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
    "disable-component-update disable-sync"
)
KEYS = {"tab": "\ue004", "enter": "\ue007", "space": " ", "escape": "\ue00c"}


class Browser:
    """One session."""

    def __init__(self, port: int, profile: str) -> None:
        self._base = f"http://127.0.0.1:{port}"
        options = {"binary": CHROMIUM, "args": [*(f"--{f}" for f in _FLAGS.split()), f"--user-data-dir={profile}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        found = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{found['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def devtools(self, command: str, **params: Any) -> Any:
        return self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, page: Path, width: int = 1280, dark: bool = False, fragment: str = "") -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self._ask("POST", f"{self._session}/url", {"url": "about:blank"})
        self._ask("POST", f"{self._session}/url", {"url": page.as_uri() + fragment})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, script: str) -> Any:
        """What a script hands to its last argument."""
        return self._ask("POST", f"{self._session}/execute/async", {"script": script, "args": []})

    def press(self, *keys: str) -> None:
        """Keys, one after the other, to whatever has the focus."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self._ask("POST", f"{self._session}/actions", {"actions": [source]})

    def focused(self) -> str:
        """What has the focus, in words."""
        found = self.run(
            "const e = document.activeElement;"
            "return `${e.tagName.toLowerCase()} ${e.id || e.textContent.trim().slice(0, 40) || e.name || ''}`"
        )
        return str(found)

    def console(self) -> list[Any]:
        """What was said in the console since it was last asked."""
        found = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return list(found)

    def picture(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self._ask("GET", f"{self._session}/screenshot")))

    def close(self) -> None:
        self._ask("DELETE", self._session)


@contextmanager
def started() -> Iterator[Browser]:
    """A browser with an empty profile, until the end."""
    assert DRIVER is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5).close()
                    break
                except (urllib.error.URLError, ConnectionError):
                    time.sleep(0.1)
            browser = Browser(port, profile)
            yield browser
            browser.close()
        finally:
            process.terminate()
            process.wait(20)
