"""A lab and a browser for the tests: both real."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.optional import chromium

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 120_000  # milliseconds: the machine may be busy


@contextlib.contextmanager
def real_browser(**settings):
    """Start Chromium and yield a context of it that waits as long as a busy machine needs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium(), args=FLAGS, timeout=PATIENCE
        )
        context = started.new_context(**settings)
        context.set_default_timeout(PATIENCE)
        yield context
        started.close()


@contextlib.contextmanager
def running_lab(*arguments):
    """Start `separatrix lab` on a free port and yield its address."""
    command = [sys.executable, "-m", "separatrix", "lab", "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield re.search(r"http://\S+", process.stdout.readline()).group(0)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(120)
        finally:
            process.stdout.close()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


class Browser:
    """A page of the lab, with a few words for what the tests do; a console error is a failure."""

    def __init__(self, page, address):
        self.page, self.address, self.complaints = page, address, []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, fragment=""):
        for _ in range(100):
            try:
                self.page.goto(self.address + fragment)
                break
            except Exception:  # the server is not listening yet
                time.sleep(0.1)
        self.page.wait_for_selector("body[data-answers]", timeout=PATIENCE)
        self.settle()
        return self

    def js(self, code):
        return self.page.evaluate(code)

    def settle(self, seconds=60):
        """Wait until no question is under way."""
        busy = "lab.questions.some(q => q.isBusy || q.waiting) || lab.proving.isBusy"
        until = time.monotonic() + seconds
        while self.js(busy):
            assert time.monotonic() < until, "the lab does not answer"
            time.sleep(0.02)

    def choose(self, method, parameters=None, lift=None, many=None, pane=0):
        """Set the form as a user would leave it."""
        choice = {"method": method, "parameters": parameters or {}, "many": many}
        choice["lift"] = lift or {"name": "none"}
        self.page.evaluate("([k, c]) => { lab.forms[k].set(c); lab.ask(k); }", [pane, choice])
        self.settle()

    def preset(self, name):
        self.page.select_option("#preset", name)
        self.settle()

    def downloaded(self, kind, folder):
        """Export through the menu and return the file's bytes."""
        with self.page.expect_download() as waiting:
            self.page.click("#export")
            self.page.click(f"[data-export={kind}]")
        target = Path(folder) / f"exported.{kind}"
        waiting.value.save_as(target)
        return target.read_bytes()

    def weights_on_screen(self):
        """Return the digits that the outcome panel shows, as they stand there."""
        rows = self.page.locator("#outcome .weight-row span").all_text_contents()
        return [float(re.sub(r"^(b|w[₁₂])", "", text).replace("−", "-")) for text in rows]
