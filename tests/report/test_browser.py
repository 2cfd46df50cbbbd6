"""The page in a browser: drawn, sorted, darkened, narrow, printed, and alone in the world."""

import base64
import json
import re
import shutil
import time

import pytest

from firecv.report import write_report
from tests.report.samples import all_parts, diagnosis, hostile_parts

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(webdriver is None, reason="selenium is not installed"),
    pytest.mark.skipif(BROWSER is None, reason="there is no browser named chromium"),
    pytest.mark.skipif(DRIVER is None, reason="there is no program named chromedriver"),
]
PATIENCE = 60


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER))  # both named: nothing is downloaded
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """Return the addresses of pages: all parts, hostile ones, one alone."""
    found = {}
    one = {"diagnosis": diagnosis()}
    for name, parts in (("all", all_parts()), ("hostile", hostile_parts()), ("one", one)):
        folder = tmp_path_factory.mktemp(name)
        for kind, part in parts.items():
            (folder / f"{kind}.json").write_text(json.dumps(part))
        found[name] = write_report(folder).as_uri()
    return found


@pytest.fixture
def visit(browser, addresses):
    def visit(name="all", *, width=1000, scheme="light", scripts=True):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preferred]})
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        browser.get_log("browser"), browser.get_log("performance")  # forget earlier pages
        browser.get(addresses[name])
        if scripts:
            wait(browser)
        return browser

    yield visit
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def wait(browser):
    """Wait until all charts are drawn."""
    until = time.monotonic() + PATIENCE
    while browser.execute_script("return document.documentElement.dataset.charts") != "drawn":
        assert time.monotonic() < until, "the charts were not drawn in time"
        time.sleep(0.05)


def wait_for_log(browser):
    """Return what is on the console, as soon as there is something."""
    until = time.monotonic() + PATIENCE
    while not (found := browser.get_log("browser")):
        assert time.monotonic() < until, "nothing was said on the console"
        time.sleep(0.05)
    return found


def colour(browser, selector, name="color"):
    code = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    return browser.execute_script(code, selector, name)


def first_column(table):
    return [cell.text for cell in table.find_elements(By.CSS_SELECTOR, "tbody th")]


def marks(browser):
    code = """return [...document.querySelectorAll("figure")].map((figure) =>
        figure.querySelectorAll("svg .role-mark path, svg .role-mark text, svg .role-mark line")
        .length)"""
    return browser.execute_script(code)


@pytest.mark.parametrize("name", ["all", "hostile", "one"])
def test_a_page_draws_all_charts_without_a_word_on_the_console(visit, name):
    browser = visit(name)
    assert [each["message"] for each in browser.get_log("browser")] == []
    found = marks(browser)
    assert len(found) >= 5 and min(found) > 0


def test_texts_of_users_are_not_run(visit):
    browser = visit("hostile")
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.images.length") == 0
    labels = browser.execute_script("return document.querySelector('figure svg').textContent")
    assert "<script>" in labels or "</script>" in labels


def test_what_appears_over_a_mark_is_text(visit):
    browser = visit("hostile")
    mark = browser.find_element(By.CSS_SELECTOR, "figure svg .mark-symbol.role-mark path")
    webdriver.ActionChains(browser).scroll_to_element(mark).move_to_element(mark).perform()
    tip = browser.find_element(By.ID, "vg-tooltip-element")
    assert "window.hacked=1" in tip.text and "0.83" in tip.text
    assert browser.execute_script("return window.hacked") is None


@pytest.mark.parametrize(
    "element", ["<script>window.hacked=1</script>", "<img src='data:,' onerror='window.hacked=1'>"]
)
def test_the_policy_stops_markup_that_gets_into_the_page(visit, element):
    browser = visit()
    code = "document.body.append(document.createRange().createContextualFragment(arguments[0]))"
    browser.execute_script(code, element)
    found = [each["message"] for each in wait_for_log(browser)]
    assert len(found) == 1 and "violates the following Content Security Policy" in found[0]
    assert browser.execute_script("return window.hacked") is None


def test_styles_that_get_into_the_page_are_ignored(visit):
    browser = visit()
    code = "document.body.insertAdjacentHTML('beforeend', '<p id=bad style=\"color:red\">x</p>')"
    browser.execute_script(code)
    assert colour(browser, "#bad") == colour(browser, "body")


def test_charts_and_tooltips_are_styled_by_the_page_alone(visit):
    browser = visit()
    mark = browser.find_element(By.CSS_SELECTOR, "figure svg .mark-symbol.role-mark path")
    webdriver.ActionChains(browser).scroll_to_element(mark).move_to_element(mark).perform()
    tip = browser.find_element(By.ID, "vg-tooltip-element")
    assert tip.is_displayed() and colour(browser, "#vg-tooltip-element", "position") == "fixed"
    assert len(browser.find_elements(By.TAG_NAME, "style")) == 1
    assert [each["message"] for each in browser.get_log("browser")] == []


def test_nothing_is_requested_from_the_network(visit):
    browser = visit()
    entries = browser.execute_script("return performance.getEntriesByType('resource').length")
    assert entries == 0
    messages = [json.loads(each["message"])["message"] for each in browser.get_log("performance")]
    urls = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert urls and not [url for url in urls if not url.startswith(("file:", "data:"))]


def test_tables_are_sorted_by_click_and_back(visit):
    browser = visit()
    table = browser.find_element(By.CSS_SELECTOR, "#fragments table")
    before = first_column(table)
    auc = table.find_elements(By.CSS_SELECTOR, "thead th")[2]
    button = auc.find_element(By.TAG_NAME, "button")
    button.click()
    assert auc.get_attribute("aria-sort") == "ascending"
    assert first_column(table) == ["Ulm", "Kiel", "Bonn"]  # what is not known stays last
    button.click()
    assert auc.get_attribute("aria-sort") == "descending"
    assert first_column(table) == ["Kiel", "Ulm", "Bonn"]
    button.click()
    assert auc.get_attribute("aria-sort") == "none" and first_column(table) == before


@pytest.mark.parametrize("key", ["ENTER", "SPACE"])
def test_tables_are_sorted_by_keyboard_and_that_is_said(visit, key):
    browser = visit()
    table = browser.find_element(By.CSS_SELECTOR, "#fragments table")
    name, other, *_ = table.find_elements(By.CSS_SELECTOR, "thead button")
    browser.execute_script("arguments[0].focus()", name)
    browser.switch_to.active_element.send_keys(getattr(Keys, key))
    assert first_column(table) == ["Bonn", "Kiel", "Ulm"]
    said = browser.find_element(By.ID, "status").get_attribute("textContent")
    assert said == "Sorted by Fragment, ascending"
    browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.switch_to.active_element == other


def test_a_fragment_is_chosen_by_keyboard(visit):
    browser = visit()
    first, second = browser.find_elements(By.CLASS_NAME, "fragment")
    assert first.is_displayed() and not second.is_displayed()
    control = browser.find_element(By.ID, "choose-fragment")
    control.send_keys(Keys.DOWN)
    assert second.is_displayed() and not first.is_displayed()
    assert second.find_element(By.TAG_NAME, "svg").size["width"] > 300


def test_the_skip_link_is_the_first_stop_and_leads_to_the_report(visit):
    browser = visit()
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    link = browser.switch_to.active_element
    assert link.get_attribute("class") == "skip" and link.rect["y"] >= 0
    assert colour(browser, ".skip", "outlineStyle") == "solid"
    link.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "main"


def test_dark_mode_follows_the_system_and_the_toggle_with_the_charts(visit):
    label = "figure svg .role-axis-label text"
    browser = visit(scheme="light")
    light = [colour(browser, "body", "backgroundColor"), colour(browser, label, "fill")]
    toggle = browser.find_element(By.ID, "theme")
    assert toggle.get_attribute("aria-pressed") == "false"
    toggle.send_keys(Keys.ENTER)
    assert toggle.get_attribute("aria-pressed") == "true"
    dark = [colour(browser, "body", "backgroundColor"), colour(browser, label, "fill")]
    assert dark[0] == "rgb(18, 21, 26)" and dark[1] == "rgb(232, 234, 238)" and light[1] != dark[1]
    browser = visit(scheme="dark")
    assert [colour(browser, "body", "backgroundColor"), colour(browser, label, "fill")] == dark
    browser.find_element(By.ID, "theme").click()
    assert [colour(browser, "body", "backgroundColor"), colour(browser, label, "fill")] == light


@pytest.mark.parametrize("name", ["all", "hostile", "one"])
@pytest.mark.parametrize("width", [320, 360, 700, 1400])
def test_the_page_never_scrolls_sideways(visit, name, width):
    browser = visit(name, width=width)
    sizes = "const e = document.documentElement; return [e.scrollWidth, e.clientWidth, innerWidth]"
    scrolled, shown, window = browser.execute_script(sizes)
    assert scrolled <= shown and window == width


def test_charts_follow_a_change_of_width(visit):
    browser = visit(width=1000)
    widths = "return [...document.querySelectorAll('#fragments svg')].map(e => e.clientWidth)"
    (before,) = browser.execute_script(widths)
    size = {"width": 500, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    until = time.monotonic() + PATIENCE
    while browser.execute_script(widths)[0] >= before:
        assert time.monotonic() < until, "the chart kept its width"
        time.sleep(0.05)
    wait(browser)
    (after,) = browser.execute_script(widths)
    assert after < 500 < before


def test_without_scripts_everything_is_in_the_tables(visit):
    browser = visit(scripts=False)
    panels = browser.find_elements(By.CLASS_NAME, "fragment")
    assert all(panel.is_displayed() for panel in panels) and len(panels) == 2
    assert not browser.find_elements(By.CSS_SELECTOR, "thead button")
    assert not browser.find_element(By.ID, "theme").is_displayed()
    assert "Charts need JavaScript" in browser.find_element(By.TAG_NAME, "header").text


def test_print_is_light_and_shows_all_fragments_without_controls(visit):
    browser = visit(scheme="dark")
    media = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    assert colour(browser, ":root", "colorScheme") == "light"
    assert colour(browser, "figure svg .role-axis-label text", "fill") == "rgb(27, 31, 36)"
    assert all(each.is_displayed() for each in browser.find_elements(By.CLASS_NAME, "fragment"))
    for selector in ("nav", "#theme", ".control"):
        assert not browser.find_element(By.CSS_SELECTOR, selector).is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_pdf_can_be_printed(visit):
    browser = visit()
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    pdf = base64.b64decode(printed["data"])
    assert pdf.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 4
