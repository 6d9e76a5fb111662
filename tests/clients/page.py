"""Drive the page of infer-serve in headless Chromium: page.py URL [FOLDER for screenshots]

Send, stream, stop, regenerate, edit, reload, a second conversation; nothing is asked of another host, and nothing is
refused by the page's own policy.  Exits 0, or with the first thing that is not so.
"""
import json
import shutil
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

URL, FOLDER = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None


def browser():
    o = webdriver.ChromeOptions()
    for a in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,800",
              "--disable-background-networking", "--disable-component-update"):
        o.add_argument(a)
    o.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=o, service=Service(shutil.which("chromedriver")))


def one(d, css):
    return d.find_element(By.CSS_SELECTOR, css)


def every(d, css):
    return d.find_elements(By.CSS_SELECTOR, css)


def until(d, what, fn):
    WebDriverWait(d, 20, 0.02).until(lambda _: fn(), what)


def idle(d):
    return one(d, "#send").is_displayed() and not every(d, ".busy")


def ask(d, text):
    one(d, "#words").send_keys(text, Keys.ENTER)


def answers(d):
    return d.execute_script("return [...document.querySelectorAll('.turn.assistant .text')].map(e => e.innerText)")


def setting(d, name, value):
    d.execute_script("const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.onchange()", "s-" + name, value)


def shot(d, name):
    if FOLDER:
        for theme in ("light", "dark"):
            d.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
            d.save_screenshot(f"{FOLDER}/{name}-{theme}.png")


def check(d):
    d.get(URL)
    assert d.switch_to.active_element == one(d, "#words"), "the message field has no focus"
    until(d, "the model is named", lambda: one(d, "#model").text not in ("", "infer-serve"))
    setting(d, "temperature", "0")
    ask(d, "What is a token?")
    until(d, "an answer begins", lambda: answers(d) and answers(d)[0])
    until(d, "an answer ends", lambda: idle(d))
    first = answers(d)[0]
    assert first and "tokens" in one(d, "#state").text, "no answer, or no figures"
    every(d, ".turn.assistant .acts button")[0].click()
    until(d, "it is given again", lambda: idle(d) and answers(d) == [first])
    d.refresh()
    until(d, "the conversation is back", lambda: answers(d) == [first])
    assert every(d, ".turn.user .text")[0].text == "What is a token?"
    shot(d, "answer")
    # without an end, so that there is something to stop
    d.execute_script("""const f = window.fetch; window.fetch = (u, o) => f(u, o && o.body ? {...o, body:
        JSON.stringify({...JSON.parse(o.body), ignore_eos: true})} : o)""")
    # the model is fast: the page itself presses the button as soon as the answer has begun
    d.execute_script("""new MutationObserver((_, o) => {
        const t = document.querySelectorAll('.turn.assistant .text')[1];
        if (t && t.innerText.length > 3) { o.disconnect(); document.getElementById('stop').click() }
    }).observe(document.body, {subtree: true, childList: true, characterData: true})""")
    ask(d, "Go on and on")
    until(d, "a long answer streams", lambda: len(answers(d)) == 2 and len(answers(d)[1]) > 3)
    until(d, "it stops", lambda: idle(d))
    assert one(d, "#state").text == "Stopped.", one(d, "#state").text
    half = answers(d)[1]
    assert half
    every(d, ".turn.user .acts button")[1].click()
    assert one(d, "#words").get_attribute("value") == "Go on and on" and len(answers(d)) == 1
    one(d, "#words").clear()
    one(d, "#show-settings").send_keys(Keys.ENTER)
    assert one(d, "#settings").is_displayed()
    until(d, "the engine is looked at", lambda: one(d, "#e-rate").text != "–")
    d.execute_script("""talk().turns.push({role: 'user', content: '<b>x</b> & how?'}, {role: 'assistant', reasoning: 'First the question.',
        content: '## A list\\n\\n1. one\\n2. **two** and `code`\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n> said <script>alert(1)</script>\\n\\n```c\\nint main(void) { return 0; }\\n```\\n[a page](https://a.example/x) [no](javascript:alert(1))',
        tool_calls: [{id: 'c', type: 'function', function: {name: 'weather', arguments: '{"city": "Oslo"}'}}]}); save(); draw()""")
    assert every(d, ".turn.assistant pre code")[-1].text and one(d, ".text table td").text == "1" and one(d, "ol li strong").text == "two"
    assert not every(d, ".text script") and not every(d, ".text b") and len(every(d, ".text a")) == 1
    assert every(d, "details.reasoning") and one(d, "details.call summary").text == "Calls weather"
    shot(d, "all")
    one(d, "#new").click()
    assert len(every(d, "#list li")) == 2 and every(d, ".welcome")
    every(d, "#list .open")[1].click()
    assert answers(d)[0] == first
    every(d, "#list .drop")[0].click()
    assert len(every(d, "#list li")) == 1
    # no request beyond the server, and no complaint
    for entry in d.get_log("performance"):
        m = json.loads(entry["message"])["message"]
        if m["method"] == "Network.requestWillBeSent":
            u = m["params"]["request"]["url"]
            assert u.startswith(URL) or u.startswith("data:"), u
    logged = [e["message"] for e in d.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
    assert not logged, logged


def main():
    d = browser()
    began = time.time()
    try:
        check(d)
    finally:
        if FOLDER:
            d.save_screenshot(FOLDER + "/last.png")
        d.quit()
    print(f"ok, {time.time() - began:.1f} s")


main()
