"""Drive the page of infer-serve in headless Chromium: page.py URL [FOLDER for screenshots]

Send, stream, stop, regenerate, edit, reload, a second conversation; the same by keys alone; what a screen reader is
told; contrast in both themes, and a narrow window; nothing is asked of another host, and nothing is refused by the
page's own policy.  Exits 0, or with the first thing that is not so.
"""
import json
import shutil
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
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


def copies(d, text):
    """The copy button of an answer, with a clipboard and without one (a page from another host over http)."""
    button = every(d, ".turn.assistant .acts button")[1]
    assert button.text == "Copy"
    d.execute_script("navigator.clipboard.writeText = (t) => { window.copied = t; return Promise.resolve() }")
    button.click()
    until(d, "it is copied", lambda: button.text == "Copied" and d.execute_script("return window.copied") == text)
    d.execute_script("""Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true}); window.copied = '';
        document.addEventListener('copy', () => { window.copied = document.activeElement.value }); arguments[0].textContent = 'Copy'""", button)
    button.click()
    until(d, "it is copied by selection", lambda: button.text == "Copied" and d.execute_script("return window.copied") == text)
    assert focus(d) != "BODY" and not every(d, "body > textarea")


def reloads(d):
    """What there was of an answer survives a reload, and Regenerate gives it whole; so it does before the first word."""
    d.execute_script("localStorage.clear()")
    d.get(URL)
    until(d, "the model is named", lambda: one(d, "#model").text not in ("", "infer-serve"))
    setting(d, "temperature", "0")
    d.execute_script("window.fetch = () => new Promise(() => {})")
    ask(d, "What is a token?")
    d.refresh()
    until(d, "the question is back", lambda: every(d, ".turn.user .text"))
    buttons = [b.text for b in every(d, ".turn .acts button")]
    assert buttons == ["Edit", "Regenerate"], buttons
    every(d, ".turn.user .acts button")[1].click()
    until(d, "it is answered", lambda: answers(d) and idle(d))
    first = answers(d)[0]
    # an answer that does not go on
    d.execute_script("""window.fetch = async () => new Response(new ReadableStream({start(c) { c.enqueue(new TextEncoder().encode(
        'data: {"choices":[{"index":0,"delta":{"content":"This was said."}}]}\\n\\n')) }}), {status: 200})""")
    every(d, ".turn.assistant .acts button")[0].click()
    until(d, "an answer begins", lambda: answers(d) == ["This was said."])
    d.refresh()
    until(d, "what there was is back", lambda: answers(d) == ["This was said."])
    assert "Regenerate" in one(d, "#state").text
    assert every(d, ".turn.assistant .acts button")[0].text == "Regenerate"
    every(d, ".turn.assistant .acts button")[0].click()
    until(d, "it is given whole", lambda: idle(d) and answers(d) == [first])
    d.refresh()
    until(d, "it is there", lambda: answers(d) == [first])
    assert one(d, "#state").text == ""


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
    d.execute_script("const f = figures; window.figures = (t) => { window.timings = t; return f(t) }")
    every(d, ".turn.assistant .acts button")[0].click()
    until(d, "it is given again", lambda: idle(d) and answers(d) == [first])
    t = d.execute_script("return window.timings")
    assert f"{t['predicted_n']} tokens, {t['predicted_per_second']:.1f} a second" in one(d, "#state").text, (t, one(d, "#state").text)
    copies(d, first)
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
    until(d, "what the server takes is shown", lambda: one(d, "#s-top_k").get_attribute("placeholder") == "server: 40")
    assert one(d, "#s-temperature").get_attribute("placeholder") == "server: 0.6"
    assert one(d, "#s-max_tokens").get_attribute("placeholder") == "server: until the answer ends"
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


def tab_to(d, css, back=False, most=60):
    """Press Tab until the focus is on what css says: keys alone get there."""
    for _ in range(most):
        at = d.switch_to.active_element
        if at.tag_name != "body" and d.execute_script("return arguments[0].matches(arguments[1])", at, css):
            return at
        press(d, Keys.TAB, shift=back)
    raise AssertionError(f"Tab does not reach {css}")


def press(d, *keys, shift=False):
    a = ActionChains(d)
    if shift:
        a.key_down(Keys.SHIFT)
    a.send_keys(*keys)
    if shift:
        a.key_up(Keys.SHIFT)
    a.perform()


def focus(d):
    return d.execute_script("return document.activeElement.id || document.activeElement.className || document.activeElement.tagName")


def keyboard(d):
    """All of it by keys alone: the focus stays when its element is drawn again."""
    d.execute_script("localStorage.clear(); sessionStorage.clear()")
    d.get(URL)
    until(d, "the model is named", lambda: one(d, "#model").text not in ("", "infer-serve"))
    tab_to(d, ".skip", back=True)
    press(d, Keys.ENTER)
    assert focus(d) == "words", focus(d)
    press(d, "What is a token?", Keys.ENTER)
    until(d, "an answer ends", lambda: answers(d) and idle(d))
    assert focus(d) == "words", focus(d)
    first = answers(d)[0]
    heard = d.execute_script("return [...document.querySelectorAll('#heard p')].map(e => e.textContent).join(' ')")
    assert heard.split() == first.split(), (heard, first)
    tab_to(d, ".turn.assistant .acts button:first-child", back=True)
    press(d, Keys.ENTER)
    until(d, "it is given again", lambda: idle(d) and len(answers(d)) == 1 and focus(d) == "words")
    tab_to(d, "#show-settings", back=True)
    press(d, Keys.ENTER)
    assert one(d, "#settings").is_displayed() and focus(d) == "s-model", focus(d)
    tab_to(d, "#s-seed")
    press(d, Keys.ESCAPE)
    assert not one(d, "#settings").is_displayed() and focus(d) == "show-settings", focus(d)
    tab_to(d, "#new")
    press(d, Keys.ENTER)
    assert focus(d) == "words" and len(every(d, "#list li")) == 2
    tab_to(d, "#list li:nth-child(2) .open", back=True)
    press(d, Keys.ENTER)
    assert focus(d) == "open" and len(answers(d)) == 1
    tab_to(d, "#list li:nth-child(2) .drop")
    press(d, Keys.SPACE)
    assert focus(d) == "open" and len(every(d, "#list li")) == 1


def semantics(d):
    """What Chromium tells a screen reader: each control has a name, regions have theirs, and one of them speaks."""
    press(d, Keys.ESCAPE)
    one(d, "#show-settings").send_keys(Keys.ENTER)
    ask(d, "What is a token?")
    until(d, "an answer ends", lambda: answers(d) and idle(d))
    seen = {}
    for n in d.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]:
        role, name = n.get("role", {}).get("value", ""), n.get("name", {}).get("value", "")
        p = {x["name"]: x["value"].get("value") for x in n.get("properties", [])}
        if n.get("ignored"):
            continue
        seen.setdefault(role, []).append(name)
        if p.get("focusable") and role != "RootWebArea":
            assert name, f"a {role} has no name"
        if role == "log":
            assert p.get("live", "off") == ("polite" if "as it comes" in name else "off"), (name, p)
    for role in ("banner", "navigation", "main", "complementary", "heading", "textbox", "combobox", "spinbutton", "status"):
        assert seen.get(role), f"nothing is a {role}"
    assert {"You", "Model"} <= set(seen["article"]) and "Send" in seen["button"] and "Message" in seen["textbox"]


CONTRAST = """
const lum = (c) => { const v = c.map((x) => { x /= 255; return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4 }); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2] };
const rgb = (s) => s.match(/[\\d.]+/g).map(Number), none = (c) => c.length > 3 && !c[3];
const under = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (!none(c)) return c } return [255, 255, 255] };
const ratio = (a, b) => { const x = lum(a), y = lum(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05) };
const low = [];
for (const e of document.querySelectorAll('body *')) {
    const s = getComputedStyle(e), say = (what, r) => low.push(`${e.tagName}.${e.className}#${e.id} ${what} ${r.toFixed(2)}`);
    if (!e.checkVisibility() || e.closest('.hidden')) continue;
    if ([...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) { const r = ratio(rgb(s.color), under(e)); if (r < 4.5) say('text', r) }
    if (e.placeholder) { const r = ratio(rgb(getComputedStyle(e, '::placeholder').color), under(e)); if (r < 4.5) say('placeholder', r) }
    if (e.matches('input, select, textarea')) { const r = ratio(rgb(s.borderTopColor), under(e.parentElement)); if (r < 3) say('edge', r) }
}
return [low, document.documentElement.scrollWidth <= innerWidth];
"""


def every_cut(d):
    """Titles that are cut, with names as long as they are in practice."""
    return d.execute_script("""const name = 'Qwen3-235B-A22B-Thinking-2507-UD-Q4_K_XL-00001-of-00003';
        document.getElementById('side').classList.add('open');
        const all = [document.getElementById('model'), ...document.querySelectorAll('#list .open')], was = all.map((e) => e.textContent);
        all.forEach((e) => { e.textContent = name });
        const cut = all.filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1).map((e) => e.outerHTML);
        all.forEach((e, i) => { e.textContent = was[i] });
        document.getElementById('side').classList.remove('open');
        return cut""")


def looks(d):
    """Contrast as WCAG 2 AA asks, in both themes; and a narrow window, where nothing is cut off."""
    for width in (1200, 400, 375):
        d.set_window_size(width, 800)
        for theme in ("light", "dark"):
            d.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
            low, fits = d.execute_script(CONTRAST)
            assert not low, (theme, low)
            assert fits, f"{width} pixels are too few"
            assert width > 375 or not every_cut(d), every_cut(d)
        shot(d, f"wide-{width}")
    press(d, Keys.ESCAPE)
    one(d, "#show-list").click()
    assert one(d, "#side").is_displayed() and focus(d) == "new", focus(d)
    shot(d, "narrow-list")
    press(d, Keys.ESCAPE)
    assert not one(d, "#side").is_displayed() and focus(d) == "show-list"
    shot(d, "narrow")


def complaints(d):
    """No request beyond the server, and no complaint of the page's own policy."""
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
        reloads(d)
        keyboard(d)
        semantics(d)
        looks(d)
        complaints(d)
    finally:
        if FOLDER:
            d.save_screenshot(FOLDER + "/last.png")
        d.quit()
    print(f"ok, {time.time() - began:.1f} s")


main()
