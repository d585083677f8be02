"""JupyterLab in a real Chromium: the quickstart's first cells, the side panel, the graph in the main area."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from jupyter import Jupyter, jupyter
from playwright.sync_api import Page, expect, sync_playwright

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Where screenshots are kept for a look; nowhere unless it is set.
SHOTS = os.environ.get("DAGBOOK_TEST_SCREENSHOTS")
READY = """() => { const s = window.jupyterapp?.shell?.currentWidget?.sessionContext; const k = s?.session?.kernel;
return s?.isReady && k?.connectionStatus === 'connected' && k?.status === 'idle' }"""

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(NOTEBOOKS, folder, dirs_exist_ok=True)
    with jupyter(folder, kind="lab") as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as p:
        chromium = shutil.which("chromium")
        assert chromium, "Chromium is missing; install it by: make browser"
        found = p.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield found
        found.close()


def open_notebook(browser, lab: Jupyter, *, dark: bool = False) -> Page:
    page = browser.new_page(viewport={"width": 1360, "height": 900})
    page.add_init_script("localStorage.clear()")
    page.goto(f"{lab.url}/lab/tree/quickstart.ipynb?token={lab.token}&reset")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.wait_for_function(READY, timeout=60_000)
    if dark:
        page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
        page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    return page


def run_cells(page: Page, count: int) -> None:
    """Run the first ``count`` cells and wait until the kernel is idle again."""
    page.evaluate("window.jupyterapp.commands.execute('notebook:move-cursor-up')")
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.evaluate("window.jupyterapp.commands.execute('notebook:enter-command-mode')")
    for _ in range(count):
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")


def shot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png")


def test_quickstart_runs_live_in_the_cell_and_in_the_side_panel_and_main_area(browser, lab):
    page = open_notebook(browser, lab)
    run_cells(page, 7)
    view = page.locator(".jp-OutputArea .dagbook-run").nth(1)
    expect(view.locator(".dagbook-pill")).to_have_attribute("data-state", "success", timeout=60_000)
    nodes = view.locator(".dagbook-node")
    expect(nodes).to_have_count(6)
    for i in range(6):
        expect(nodes.nth(i)).to_have_attribute("data-state", "success")
    expect(view.locator(".dagbook-node[data-task='delays'] text.words")).to_have_text("15 ✔")
    view.scroll_into_view_if_needed()
    shot(page, "cell-light")

    page.evaluate("window.jupyterapp.commands.execute('dagbook:show')")
    row = page.locator(".dagbook-row[data-dag='flights_daily']")
    expect(row.locator(".dagbook-dot")).to_have_count(1)
    page.get_by_label("Search DAGs").fill("no such")
    expect(page.locator(".dagbook-note").first).to_have_text("No DAG matches.")
    page.get_by_label("Search DAGs").fill("flights")
    row.locator(".dagbook-name").click()
    main = page.locator(".dagbook-dag")
    expect(main.locator(".dagbook-node")).to_have_count(6)
    main.locator(".dagbook-node[data-task='delays']").click()
    expect(main.locator(".dagbook-detail tr")).to_have_count(16)
    expect(main.locator(".dagbook-detail pre")).to_contain_text("flights left")
    shot(page, "main-light")
    page.close()


def test_a_run_started_in_the_panel_is_live_in_the_main_area(browser, lab):
    page = open_notebook(browser, lab, dark=True)
    run_cells(page, 7)
    expect(page.locator(".jp-OutputArea .dagbook-pill").last).to_have_attribute("data-state", "success", timeout=60_000)
    shot(page, "cell-dark")
    page.evaluate("window.jupyterapp.commands.execute('dagbook:open', {dag: 'flights_daily'})")
    main = page.locator(".dagbook-dag")
    before = main.locator("select option").count()
    main.get_by_role("button", name="▶ Run").click()
    # The day is today, of which there are no flights: nothing to map over, so what follows is skipped.
    expect(main.locator(".dagbook-node[data-task='split']")).to_have_attribute("data-state", "skipped", timeout=60_000)
    expect(main.locator(".dagbook-pill")).to_have_attribute("data-state", "success", timeout=60_000)
    assert main.locator("select option").count() > before
    expect(main.locator("select option:checked")).to_contain_text("(success)")
    expect(main.get_by_role("button", name="Cancel run")).to_be_hidden()
    shot(page, "main-dark")
    page.close()


def test_a_saved_run_shows_its_last_picture_without_a_kernel(browser, lab):
    page = open_notebook(browser, lab)
    run_cells(page, 7)
    expect(page.locator(".jp-OutputArea .dagbook-pill").last).to_have_attribute("data-state", "success", timeout=60_000)
    page.wait_for_function(READY, timeout=60_000)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty", timeout=20_000)
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.reload()
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    expect(page.locator(".jp-OutputArea .dagbook-pill").last).to_have_attribute("data-state", "success", timeout=30_000)
    assert "Error displaying widget" not in page.locator(".jp-Notebook").inner_text()
    page.close()
