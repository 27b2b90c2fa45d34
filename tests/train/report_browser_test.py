#!/usr/bin/env python3
"""Opens reports of known figures in a real browser and checks what a person would see: curves
drawn, numbers equal to the figures, pictures loaded, no sideways scrolling on a phone, dark mode,
no error in the console, and nothing of what hostile names try.

Usage: report_browser_test.py PROGRAM [FOLDER]   (PROGRAM is train_make_reports; FOLDER keeps the
reports and pictures of the pages)
Exits with 77 if there is no browser to test with."""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print("skipped: python3-selenium is not installed")
    sys.exit(SKIPPED)

PHONE, DESK = 360, 1200
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def start_browser(driver):
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(driver), options=options)


class Page:
    """A report in the browser, on a screen of a width, in a colour scheme."""

    def __init__(self, browser, folder, name):
        self.browser, self.folder, self.name = browser, folder, name

    def show(self, width, scheme="light"):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.get(f"file://{self.folder}/{self.name}.html")
        size = self.run("""return [innerWidth, document.documentElement.scrollWidth,
                                   document.documentElement.scrollHeight]""")
        what = f"{self.name}, {width} px, {scheme}"
        check(size[0] == width, f"{what}: innerWidth is {size[0]}")
        check(size[1] <= width, f"{what}: the page is {size[1]} px wide")
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": size[2], "scale": 1}})
        with open(f"{self.folder}/{self.name}-{width}-{scheme}.png", "wb") as file:
            file.write(base64.b64decode(shot["data"]))
        return self

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])]"
                        ".map(e => e.innerText.trim())", selector)

    def check_console(self):
        for entry in self.browser.get_log("browser"):
            check(False, f"{self.name}: console: {entry['message']}")

    def check_images(self, least):
        """All pictures are loaded; there are at least so many."""
        widths = self.run("return [...document.images].map(i => i.naturalWidth)")
        check(len(widths) >= least, f"{self.name}: {len(widths)} images, expected {least}")
        check(all(width > 0 for width in widths), f"{self.name}: an image was not loaded")

    def check_curves(self, chart, columns):
        """A path for each column of figures, with a point for each, inside the view box, higher
        where the figure is higher."""
        box = self.run("const b = document.getElementById(arguments[0]).viewBox.baseVal;"
                       "return [b.width, b.height]", chart)
        paths = self.run("return [...document.querySelectorAll('#' + arguments[0] + ' path.curve')]"
                         ".map(p => p.getAttribute('d'))", chart)
        check(len(paths) == len(columns), f"{self.name}, {chart}: {len(paths)} curves")
        for path, figures in zip(paths, columns):
            points = [tuple(map(float, p)) for p in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path)]
            check(len(points) == len(figures), f"{self.name}, {chart}: {len(points)} points")
            check(all(0 <= x <= box[0] and 0 <= y <= box[1] for x, y in points),
                  f"{self.name}, {chart}: a point is outside of {box}")
            check(all(a[0] < b[0] for a, b in zip(points, points[1:])),
                  f"{self.name}, {chart}: points do not go to the right")
            # y = a + b * figure, with b below zero, up to the rounding of the coordinates.
            low, high = figures.index(min(figures)), figures.index(max(figures))
            slope = (points[high][1] - points[low][1]) / (figures[high] - figures[low])
            check(slope < 0, f"{self.name}, {chart}: larger figures are not higher")
            for (_, y), figure in zip(points, figures):
                expected = points[low][1] + slope * (figure - figures[low])
                check(abs(y - expected) < 0.2, f"{self.name}, {chart}: {figure} is drawn at {y}, "
                      f"expected {expected}")
        drawn = self.run("const r = document.querySelector('#' + arguments[0] + ' path.curve')"
                         ".getBoundingClientRect(); return [r.width, r.height]", chart)
        check(drawn[0] > 100 and drawn[1] > 20, f"{self.name}, {chart}: drawn with {drawn} px")


def read_figures(folder, name):
    with open(f"{folder}/{name}.txt", encoding="ascii") as file:
        rows = [[float(word) for word in line.split()] for line in file]
    return [list(column) for column in zip(*rows)]


def loss(value):
    return f"{value:.4f}"


def percent(value):
    return f"{100 * value:.2f}%"


def check_contrast(page, scheme):
    """Text on its background has a ratio of at least 4.5 in all colours that text has."""
    ratios = page.run("""
      const parts = c => c.match(/[\\d.]+/g).map(Number);
      const light = c => { const [r, g, b] = parts(c).map(v => { v /= 255;
        return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const ground = e => { for (; e; e = e.parentElement) {
        const c = parts(getComputedStyle(e).backgroundColor);
        if (c.length == 3 || c[3] == 1) return getComputedStyle(e).backgroundColor;
        if (c[3] > 0) return null; } return null; };
      const found = [];
      for (const e of document.querySelectorAll('h1, h2, p, span, dt, dd, th, td, code, li')) {
        if (!e.innerText || !e.innerText.trim()) continue;
        const g = ground(e); if (!g) continue;
        const a = light(getComputedStyle(e).color), b = light(g);
        found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.innerText]);
      }
      return found;""")
    check(len(ratios) > 100, f"{scheme}: only {len(ratios)} texts were found")
    worst = min(ratios)
    check(worst[0] >= 4.5, f"{scheme}: contrast {worst[0]:.2f} of {worst[1]!r}")


def test_classification(browser, folder):
    page = Page(browser, folder, "classification").show(DESK)
    number, train_loss, train_score, valid_loss, valid_score = read_figures(folder, page.name)
    page.check_curves("loss-chart", [train_loss, valid_loss])
    page.check_curves("score-chart", [train_score, valid_score])
    rows = [row.split() for row in page.texts("#epochs tbody tr")]
    check(len(rows) == len(number), f"{len(rows)} rows of epochs")
    for i, row in enumerate(rows):
        expected = [str(int(number[i])), loss(train_loss[i]), percent(train_score[i]),
                    loss(valid_loss[i]), percent(valid_score[i])]
        check(row[:5] == expected, f"epoch {i + 1}: {row[:5]}, expected {expected}")
    figures = dict(zip(page.texts("dl.figures dt"), page.texts("dl.figures dd")))
    check(figures.get("Test accuracy") == "91.87%", f"figures: {figures}")
    check(figures.get("Parameters") == "421,834", f"figures: {figures}")
    cells = page.texts("#confusion tbody td")
    check(len(cells) == 100, f"{len(cells)} cells of the confusion matrix")
    check(sum(int(cell) for cell in cells) == 10000, "the confusion matrix has not 10000 samples")
    check(page.texts("#classes tbody th")[3] == "Dress", "the fourth class is not Dress")
    check(page.texts("#run dd code")[0].endswith("--output fashion.safetensors"), "command line")
    check(not page.run("return !!document.querySelector('meta[http-equiv=refresh]')"),
          "a finished run loads itself again")
    page.check_images(62)
    # The figures of an epoch appear under the pointer.
    columns = "const c = document.querySelectorAll('#loss-chart .column');"
    check(page.run(columns + "return c.length") == len(number), "columns under the pointer")
    place = page.run(columns + "c[2].scrollIntoView({block: 'center'});"
                     "const r = c[2].querySelector('rect').getBoundingClientRect();"
                     "return [r.x + r.width / 2, r.y + r.height / 2]")
    browser.execute_cdp_cmd("Input.dispatchMouseEvent",
                            {"type": "mouseMoved", "x": place[0], "y": place[1]})
    seen = page.run(columns + "return [...c].map(e => e.querySelector('.seen')).filter("
                    "e => getComputedStyle(e).visibility == 'visible').map(e => e.textContent)")
    check(len(seen) == 1 and "epoch 3" in seen[0] and loss(train_loss[2]) in seen[0] and
          loss(valid_loss[2]) in seen[0], f"under the pointer: {seen}")
    check_contrast(page, "light")

    ground = "return getComputedStyle(document.body).backgroundColor"
    ink = "return getComputedStyle(document.body).color"
    light = page.run(ground), page.run(ink)
    page.show(DESK, "dark")
    dark = page.run(ground), page.run(ink)
    check(light[0] != dark[0] and light[1] != dark[1], f"colours {light} and {dark}")
    check_contrast(page, "dark")
    page.show(PHONE)
    page.check_images(62)
    page.show(PHONE, "dark")
    small = page.run("return [...document.querySelectorAll('#loss-chart text')].map("
                     "t => parseFloat(getComputedStyle(t).fontSize) * "
                     "t.ownerSVGElement.getBoundingClientRect().width / "
                     "t.ownerSVGElement.viewBox.baseVal.width)")
    check(min(small) >= 9, f"text of {min(small)} px in a chart on a phone")
    page.check_console()


def test_regression(browser, folder):
    page = Page(browser, folder, "regression").show(DESK)
    _, train_loss, train_score, valid_loss, valid_score = read_figures(folder, page.name)
    page.check_curves("loss-chart", [train_loss, valid_loss])
    page.check_curves("score-chart", [train_score, valid_score])
    check(page.texts("#regression dd") == ["0.2113", "0.3021", "0.8714"], "figures of regression")
    check(page.run("return document.querySelectorAll('#scatter-chart circle.point').length") == 150,
          "points of the predictions")
    check(page.run("return !!document.querySelector('meta[http-equiv=refresh]')"),
          "a running run does not load itself again")
    page.show(PHONE)
    page.check_console()


def test_many_classes(browser, folder):
    page = Page(browser, folder, "many").show(DESK)
    box = page.run("const r = document.getElementById('confusion-picture').getBoundingClientRect();"
                   "return [r.width, r.height]")
    check(box[0] > 300 and abs(box[0] - box[1]) < 2, f"the matrix of 100 classes has {box} px")
    check(len(page.texts("#classes tbody tr")) == 100, "rows of 100 classes")
    page.show(PHONE)
    page.check_images(62)
    page.check_console()


def test_hostile_names(browser, folder):
    page = Page(browser, folder, "hostile").show(DESK)
    check(page.run("return document.title").startswith("</title></style><h1>taken"),
          "the title is not shown as it is")
    check(page.run("return document.querySelectorAll('script, h1 h1, img[src=x]').length") == 0,
          "a name has become an element")
    check(page.run("return document.querySelectorAll('h1').length") == 1, "a name is a heading")
    check(page.run("return [...document.querySelectorAll('*')].some(e => [...e.attributes].some("
                   "a => a.name.startsWith('on')))") is False, "a name has become an attribute")
    check(page.texts("#classes tbody th")[0] == "<script>document.title='taken'</script>",
          "a class name is not shown as it is")
    page.show(PHONE)
    page.check_console()


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    driver = shutil.which("chromedriver")
    if driver is None:
        print("skipped: chromium-driver is not installed")
        return SKIPPED
    folder = os.path.abspath(sys.argv[2]) if len(sys.argv) == 3 else tempfile.mkdtemp()
    subprocess.run([sys.argv[1], folder], check=True)
    browser = start_browser(driver)
    try:
        for test in (test_classification, test_regression, test_many_classes, test_hostile_names):
            test(browser, folder)
    finally:
        browser.quit()
        if len(sys.argv) == 2:
            shutil.rmtree(folder)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
