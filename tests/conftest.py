"""What tests share: where the real data lies, settings of the tests, pages in a browser."""

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).resolve().parents[1]
SOURCES = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks")))  # a value of PYTHONPATH
DATA = ROOT.parent / "shared" / "data"

# For the commands that tests start, too: tests run beside each other, threads of small models wait for each
# other, and one thread gives the same sums everywhere. Torch reads it when it is imported.
os.environ["OMP_NUM_THREADS"] = "1"

# Where Python may not keep bytecode, as in many containers, each process could compile the project and torch
# anew: for this run, and what it starts, there is a folder for it, which `make clean` removes.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(ROOT / "build" / "bytecode")
    sys.dont_write_bytecode = False

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
# One example kills a mutant; nobody reads it, so it is not made small, and none is kept.
settings.register_profile(
    "mutants", settings.get_profile("patient"), phases=(Phase.explicit, Phase.generate), database=None
)

# Root may write everywhere; a test of what cannot be written takes that right away from its child process.
WITHOUT_PRIVILEGES = ("setpriv", "--bounding-set=-all") if os.geteuid() == 0 else ()


def hear_control_c() -> None:
    """For `preexec_fn`: what a shell starts in the background is deaf to Ctrl-C, and hands that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def data(name: str) -> Path:
    """A path in the folder of real data beside the project; the test is skipped where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs the real data of ../shared/data/{name}, which is not part of the project")
    return path


@pytest.hookimpl(trylast=True)  # after the folders' own ones, which give some tests more time
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that may take longest come first: begun last, one of minutes would keep one worker busy."""
    limits = {item: item.get_closest_marker("timeout") for item in items}
    items.sort(key=lambda item: -limit.args[0] if (limit := limits[item]) else 0)


@pytest.fixture(scope="session", autouse=True)
def no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Of the one who runs the tests: neither read nor written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        for name in [name for name in os.environ if name.startswith("WIKITEXT_")]:
            patch.delenv(name)
        yield


@pytest.fixture(autouse=True)
def threads_stay() -> Iterator[None]:
    """If a test leaves torch more threads, all tests after it are slow: threads wait for busy cores."""
    yield
    torch: Any = sys.modules.get("torch")
    assert torch is None or torch.get_num_threads() == 1


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must have Debian's chromium and playwright's Python package")
        pytest.skip("needs Debian's chromium and playwright's Python package")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens the text of a page in a tab; the page must not complain, nor ask for anything."""
    complaints, requests, tabs = list[str](), list[str](), list[Any]()

    def open_text(text: str, width: int = 1200, **options: object) -> Any:
        tab = browser.new_page(viewport={"width": width, "height": 800}, **options)
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        tab.goto((tmp_path / "page.html").as_uri())
        tabs.append(tab)
        return tab

    yield open_text
    for tab in tabs:
        tab.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith("file:")] == []
