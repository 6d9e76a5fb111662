'use strict';

/* Texts of the model and of the user become text nodes; the browser never parses them as markup. */

const $ = (id) => document.getElementById(id);

function make(tag, props = {}, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(props)) {
		if (key.startsWith('aria-')) e.setAttribute(key, value);
		else e[key] = value;
	}
	e.append(...children);
	return e;
}

/* ---- local storage ---- */

const KEPT = 'infer-serve', FIELDS = ['model', 'system', 'temperature', 'top_p', 'top_k', 'min_p', 'repeat_penalty', 'max_tokens', 'seed', 'tools'];
const NUMBERS = ['temperature', 'top_p', 'top_k', 'min_p', 'repeat_penalty', 'max_tokens', 'seed'];
const NONE = { max_tokens: 'server: until the answer ends', seed: 'server: random' };
let kept = { talks: [], now: 0, settings: {} };

function load() {
	try {
		const k = JSON.parse(localStorage.getItem(KEPT));
		if (k && Array.isArray(k.talks)) kept = k;
	} catch (e) { /* nothing stored, or not readable */ }
	if (!kept.talks.length) add();
	if (!(kept.now in kept.talks)) kept.now = 0;
}

function save() {
	try {
		localStorage.setItem(KEPT, JSON.stringify(kept));
	} catch (e) {
		say('The browser has no room to keep this conversation.', true);
	}
}

function add() {
	kept.talks.unshift({ turns: [] });
	kept.now = 0;
}

const talk = () => kept.talks[kept.now];

/* ---- Markdown ---- */

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*([\s\S]+?)\*\*|__([\s\S]+?)__|\*([^\s*][^*]*)\*|\[([^\]]+)\]\((https?:[^\s)]+)\)|(https?:\/\/[^\s<>"')\]]+)/;

function link(text, to) {
	return make('a', { href: to, target: '_blank', rel: 'noreferrer noopener' }, text);
}

function inline(to, text) {
	for (let m; (m = INLINE.exec(text));) {
		to.append(text.slice(0, m.index));
		if (m[1]) to.append(make('code', {}, m[2].trim()));
		else if (m[3] || m[4]) inline(to.appendChild(make('strong')), m[3] || m[4]);
		else if (m[5]) inline(to.appendChild(make('em')), m[5]);
		else to.append(link(m[6] || m[8], m[7] || m[8]));
		text = text.slice(m.index + m[0].length);
	}
	to.append(text);
}

/* Browsers have a clipboard only for https and localhost; elsewhere the text is selected and copied. */
function copySelected(text) {
	const at = document.activeElement, box = document.body.appendChild(make('textarea', { value: text, className: 'hidden' }));
	box.select();
	const done = document.execCommand('copy');
	box.remove();
	at.focus();
	return done ? Promise.resolve() : Promise.reject(new Error('refused'));
}

function copyButton(text) {
	const button = make('button', { type: 'button' }, 'Copy');
	button.onclick = () => (navigator.clipboard ? navigator.clipboard.writeText(text()) : copySelected(text()))
		.then(() => { button.textContent = 'Copied'; }, () => say('The browser does not let the page copy.', true));
	return button;
}

function codeBlock(lines) {
	const text = lines.join('\n');
	return make('pre', {}, make('code', {}, text), copyButton(() => text));
}

const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((c) => c.trim());
const BLOCK = /^(\s*(```|~~~)|#{1,6} |> |\s*([-*+]|\d+[.)]) |([-*_] *){3,}$)/;

function tableOf(lines) {
	const row = (tag, line) => make('tr', {}, ...cells(line).map((c) => { const e = make(tag); inline(e, c); return e; }));
	return make('table', {}, make('thead', {}, row('th', lines[0])), make('tbody', {}, ...lines.slice(2).map((l) => row('td', l))));
}

function listOf(lines) {
	const ordered = /^\s*\d/.test(lines[0]), list = make(ordered ? 'ol' : 'ul');
	const indent = lines[0].search(/\S/);
	if (ordered) list.start = parseInt(lines[0], 10);
	let item = null, rest = [];
	const end = () => { if (item && rest.length) markdown(item, rest); rest = []; };
	for (const line of lines) {
		const m = /^(\s*)([-*+]|\d+[.)]) (.*)$/.exec(line);
		if (m && m[1].length <= indent + 1) {
			end();
			item = list.appendChild(make('li'));
			inline(item, m[3]);
		} else {
			rest.push(line.slice(Math.min(line.search(/\S|$/), indent + 2)));
		}
	}
	end();
	return list;
}

function markdown(to, lines) {
	const n = lines.length;
	for (let i = 0; i < n;) {
		const line = lines[i], fence = /^\s*(```|~~~)/.exec(line), head = /^(#{1,6}) (.*)$/.exec(line);
		let from = i;
		if (!line.trim()) { i++; continue; }
		if (fence) {
			for (i++; i < n && !lines[i].trim().startsWith(fence[1]);) i++;
			to.append(codeBlock(lines.slice(from + 1, i++)));
		} else if (head) {
			inline(to.appendChild(make('h' + Math.min(6, head[1].length + 2))), head[2]);
			i++;
		} else if (/^([-*_] *){3,}$/.test(line)) {
			to.append(make('hr'));
			i++;
		} else if (line.startsWith('> ') || line === '>') {
			while (i < n && lines[i].startsWith('>')) i++;
			markdown(to.appendChild(make('blockquote')), lines.slice(from, i).map((l) => l.replace(/^> ?/, '')));
		} else if (/^\s*([-*+]|\d+[.)]) /.test(line)) {
			while (i < n && (/^\s*([-*+]|\d+[.)]) /.test(lines[i]) || /^\s+\S/.test(lines[i]))) i++;
			to.append(listOf(lines.slice(from, i)));
		} else if (line.includes('|') && i + 1 < n && /^[\s|:-]*-[\s|:-]*$/.test(lines[i + 1])) {
			while (i < n && lines[i].includes('|')) i++;
			to.append(tableOf(lines.slice(from, i)));
		} else {
			for (i++; i < n && lines[i].trim() && !BLOCK.test(lines[i]);) i++;
			const p = to.appendChild(make('p'));
			lines.slice(from, i).forEach((l, k) => { if (k) p.append(make('br')); inline(p, l); });
		}
	}
}

/* ---- the conversation ---- */

function fold(kind, title, text, open) {
	return make('details', { className: kind, open: !!open }, make('summary', {}, title), make('pre', {}, make('code', {}, text)));
}

function fill(box, turn, busy) {
	const text = make('div', { className: 'text' });
	box.querySelectorAll(':scope > .text, :scope > details').forEach((e) => e.remove());
	if (turn.reasoning) box.insertBefore(fold('reasoning', 'Reasoning', turn.reasoning, busy && !turn.content), box.querySelector('.acts'));
	if (turn.role === 'user') text.textContent = turn.content;
	else markdown(text, (turn.content || '').split('\n'));
	box.insertBefore(text, box.querySelector('.acts'));
	for (const c of turn.tool_calls || [])
		box.insertBefore(fold('call', 'Calls ' + c.function.name, c.function.arguments, true), box.querySelector('.acts'));
	box.classList.toggle('busy', busy);
}

const NAMES = { user: 'You', assistant: 'Model', tool: 'Tool' };

function show(turn, i) {
	const acts = make('div', { className: 'acts' }), box = make('article', { className: 'turn ' + turn.role, 'aria-label': NAMES[turn.role] }, make('header', {}, NAMES[turn.role]), acts);
	const act = (name, fn) => acts.appendChild(make('button', { type: 'button', onclick: fn }, name));
	const again = (n) => act('Regenerate', () => { if (!running) { talk().turns.length = n; answer(); } });
	if (turn.role === 'user') act('Edit', () => edit(i));
	if (turn.role !== 'assistant' && i === talk().turns.length - 1 && !running) again(i + 1);
	if (turn.role === 'assistant') {
		again(i);
		acts.append(copyButton(() => turn.content));
		for (const c of turn.tool_calls || []) act('Answer ' + c.function.name, () => answerCall(c));
	}
	fill(box, turn, false);
	return $('log').appendChild(box);
}

function draw() {
	const t = talk();
	$('log').replaceChildren();
	if (!t.turns.length) $('log').append(make('p', { className: 'welcome' }, 'Ask the model something. Conversations stay in this browser.'));
	t.turns.forEach(show);
	$('log').scrollTop = $('log').scrollHeight;
	$('list').replaceChildren(...kept.talks.map((k, i) => {
		const first = k.turns.find((x) => x.role === 'user'), name = first ? first.content.slice(0, 60) : 'Empty conversation';
		const open = make('button', { type: 'button', className: 'open', onclick: () => { if (!running) choose(i); } }, name);
		const drop = make('button', { type: 'button', className: 'drop', 'aria-label': 'Delete: ' + name, onclick: () => remove(i) }, '×');
		if (i === kept.now) open.setAttribute('aria-current', 'true');
		return make('li', { className: i === kept.now ? 'now' : '' }, open, drop);
	}));
}

const isOpen = (panel) => panel.id === 'settings' ? !panel.hidden : panel.classList.contains('open');

/* Rendering replaces the element that had the focus, so focus its replacement. */
function choose(i) {
	kept.now = i;
	save();
	draw();
	if (isOpen($('side'))) {
		toggle($('show-list'), $('side'), false);
		$('words').focus();
	} else {
		$('list').children[i].firstChild.focus();
	}
}

function remove(i) {
	if (running) return;
	kept.talks.splice(i, 1);
	if (!kept.talks.length) add();
	if (kept.now > i || kept.now >= kept.talks.length) kept.now = Math.max(0, kept.now - 1);
	save();
	draw();
	$('list').children[Math.min(i, kept.talks.length - 1)].firstChild.focus();
}

function edit(i) {
	if (running) return;
	$('words').value = talk().turns[i].content;
	talk().turns.length = i;
	save();
	draw();
	$('words').focus();
}

/* The result of a tool is a turn that the user writes. */
function answerCall(call) {
	if (running) return;
	pending = call;
	say('Write what ' + call.function.name + ' gives, and send it.');
	$('words').focus();
}

function say(text, bad = false) {
	$('state').textContent = text;
	$('state').classList.toggle('bad', bad);
}

/* ---- answers ---- */

let running = null, pending = null;

function headers() {
	const key = $('s-key').value, h = { 'Content-Type': 'application/json' };
	if (key) h.Authorization = 'Bearer ' + key;
	return h;
}

function request() {
	const s = kept.settings, body = { stream: true, timings_per_token: true, messages: [] };
	if (s.system) body.messages.push({ role: 'system', content: s.system });
	for (const t of talk().turns) {
		if (t.role === 'assistant' && !t.content && !t.tool_calls) continue;
		const m = { role: t.role, content: t.content };
		if (t.tool_calls && t.tool_calls.length) m.tool_calls = t.tool_calls;
		if (t.tool_call_id) m.tool_call_id = t.tool_call_id;
		body.messages.push(m);
	}
	if (s.model) body.model = s.model;
	for (const f of NUMBERS)
		if (s[f] !== undefined && s[f] !== '') body[f] = Number(s[f]);
	if (s.tools && s.tools.trim()) body.tools = JSON.parse(s.tools);
	return body;
}

/* Yield the data of each server-sent event. */
async function* events(reader) {
	const decoder = new TextDecoder();
	let text = '';
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		text += decoder.decode(value, { stream: true });
		for (let at; (at = text.indexOf('\n\n')) >= 0; text = text.slice(at + 2))
			for (const line of text.slice(0, at).split('\n'))
				if (line.startsWith('data: ')) yield line.slice(6);
	}
}

function take(turn, delta) {
	if (delta.content) turn.content += delta.content;
	if (delta.reasoning_content) turn.reasoning = (turn.reasoning || '') + delta.reasoning_content;
	for (const c of delta.tool_calls || []) {
		turn.tool_calls = turn.tool_calls || [];
		const call = turn.tool_calls[c.index] || (turn.tool_calls[c.index] = { id: c.id, type: 'function', function: { name: '', arguments: '' } });
		call.function.name += (c.function && c.function.name) || '';
		call.function.arguments += (c.function && c.function.arguments) || '';
	}
}

const ENDS = { length: 'Cut short: the token limit or the end of the context was reached.', stop: '', tool_calls: 'The model waits for the results of its tool calls.' };

/* What a server measured is right however late its parts are read. */
function figures(t) {
	if (!t) return '';
	const rate = t.predicted_n > 1 ? `, ${t.predicted_per_second.toFixed(1)} a second` : '';
	return `${t.predicted_n} tokens${rate}, the prompt in ${Math.round(t.prompt_ms)} ms.`;
}

async function stream(turn, box, signal) {
	const r = await fetch('v1/chat/completions', { method: 'POST', headers: headers(), body: JSON.stringify(request()), signal });
	if (!r.ok) {
		const why = await r.json().catch(() => ({}));
		throw new Error(r.status === 401 ? 'The server requires an API key: see Settings.' : (why.error && why.error.message) || 'The server answered with status ' + r.status + '.');
	}
	let due = false, timings = null, end = '', saved = 0;
	talk().turns.push(turn);
	save();
	const paint = (now) => {
		due = false;
		fill(box, turn, running !== null);
		stick();
		hear(turn.content, false);
		if (now - saved > 1000) { saved = now; save(); }
	};
	for await (const data of events(r.body.getReader())) {
		if (data === '[DONE]') break;
		const chunk = JSON.parse(data);
		if (chunk.error) throw new Error(chunk.error.message);
		timings = chunk.timings || timings;
		for (const c of chunk.choices) {
			take(turn, c.delta);
			end = c.finish_reason || end;
		}
		if (!due) { due = true; requestAnimationFrame(paint); }
	}
	delete turn.unfinished;
	say([ENDS[end], figures(timings)].filter(Boolean).join(' '));
}

/* A screen reader hears each sentence of an answer once, when it is complete.  The conversation itself is no live
 * region, because every part that arrives redraws it. */
let heard = 0;

function hear(text, whole) {
	const end = whole ? text.length : Math.max(...['\n', '. ', '! ', '? '].map((s) => text.lastIndexOf(s))) + 1;
	if (end <= heard) return;
	$('heard').append(make('p', {}, text.slice(heard, end).trim()));
	heard = end;
}

/* Scroll to the end, unless the reader has scrolled up. */
function stick() {
	const log = $('log');
	if (log.scrollHeight - log.scrollTop - log.clientHeight < 160) log.scrollTop = log.scrollHeight;
}

async function answer() {
	const turn = { role: 'assistant', content: '', unfinished: true }, typing = document.activeElement === $('words');
	heard = 0;
	$('heard').replaceChildren();
	running = new AbortController();
	draw();
	const box = show(turn, talk().turns.length);
	box.classList.add('busy');
	$('log').scrollTop = $('log').scrollHeight;
	$('send').hidden = true;
	$('stop').hidden = false;
	if (!typing) $('stop').focus();
	say('The model reads the prompt …');
	try {
		await stream(turn, box, running.signal);
	} catch (e) {
		if (e.name === 'AbortError') say('Stopped.');
		else say(e.message, true);
	}
	running = null;
	delete turn.unfinished;
	hear(turn.content, true);
	const back = document.activeElement === $('stop') || document.activeElement === document.body;
	$('stop').hidden = true;
	$('send').hidden = false;
	save();
	draw();
	if (back) $('words').focus();
}

function send() {
	const words = $('words').value;
	if (running || !words.trim()) return;
	try {
		if (kept.settings.tools && kept.settings.tools.trim()) JSON.parse(kept.settings.tools);
	} catch (e) {
		say('The tools are not JSON: ' + e.message, true);
		return;
	}
	talk().turns.push(pending ? { role: 'tool', tool_call_id: pending.id, content: words } : { role: 'user', content: words });
	pending = null;
	$('words').value = '';
	save();
	answer();
}

/* ---- the engine ---- */

const rates = [];
let before = null;

function metric(text, name) {
	let sum = 0;
	for (const m of text.matchAll(new RegExp('^infer_' + name + '(?:\\{[^\\n]*\\})? (\\S+)$', 'gm'))) sum += Number(m[1]);
	return sum;
}

async function look() {
	if ($('settings').hidden || document.hidden) { before = null; return; }
	try {
		const r = await fetch('metrics', { headers: headers() });
		if (!r.ok) return;
		const text = await r.text(), now = performance.now(), tokens = metric(text, 'generation_tokens_total');
		const prompts = metric(text, 'prompt_tokens_total'), cached = metric(text, 'prompt_tokens_cached_total');
		$('e-running').textContent = metric(text, 'num_requests_running');
		$('e-waiting').textContent = metric(text, 'num_requests_waiting');
		$('e-pages').textContent = (100 * metric(text, 'kv_cache_usage_ratio')).toFixed(1) + ' %';
		$('e-hits').textContent = prompts ? (100 * cached / prompts).toFixed(0) + ' %' : '–';
		if (before) {
			const rate = Math.max(0, 1000 * (tokens - before.tokens) / (now - before.now));
			$('e-rate').textContent = rate.toFixed(1);
			rates.push(rate);
			if (rates.length > 120) rates.shift();
			const most = Math.max(...rates, 1);
			$('chart').firstElementChild.setAttribute('points', rates.map((v, i) => `${120 - rates.length + i},${29 - 28 * v / most}`).join(' '));
		}
		before = { tokens, now };
	} catch (e) { /* the server does not answer: the next request shows why */ }
}

/* ---- start ---- */

async function models() {
	try {
		const r = await fetch('v1/models', { headers: headers() }), all = (await r.json()).data || [];
		$('s-model').replaceChildren(...all.map((m) => make('option', { value: m.id }, m.id)));
		if (all.some((m) => m.id === kept.settings.model)) $('s-model').value = kept.settings.model;
		$('model').textContent = $('s-model').value || 'infer-serve';
		document.title = $('model').textContent;
	} catch (e) {
		say('The server does not answer.', true);
	}
}

/* Show the values that the server takes for empty fields. */
async function defaults() {
	let has = {};
	try {
		const r = await fetch('props?model=' + encodeURIComponent($('s-model').value), { headers: headers() });
		if (r.ok) has = (await r.json()).default_generation_settings.params;
	} catch (e) { /* the next request shows why */ }
	for (const f of NUMBERS) {
		const v = has[f];
		$('s-' + f).placeholder = v === undefined ? '' : v >= 0 ? 'server: ' + +v.toPrecision(6) : NONE[f] || '';
	}
}

function toggle(button, panel, opens) {
	button.setAttribute('aria-expanded', opens);
	if (panel.id === 'settings') { panel.hidden = !opens; look(); if (opens) defaults(); }
	else panel.classList.toggle('open', opens);
	if (opens) panel.querySelector('button, select').focus();
}

/* Escape stops an answer; otherwise it closes the open dialog, which restores the focus. */
function leave() {
	if (running) {
		running.abort();
		return;
	}
	for (const [button, panel] of [[$('show-settings'), $('settings')], [$('show-list'), $('side')]]) {
		if (!isOpen(panel)) continue;
		toggle(button, panel, false);
		button.focus();
		return;
	}
}

function begin() {
	load();
	for (const f of FIELDS) {
		const e = $('s-' + f);
		if (kept.settings[f] !== undefined) e.value = kept.settings[f];
		e.onchange = () => { kept.settings[f] = e.value; save(); if (f === 'model') { $('model').textContent = e.value; defaults(); } };
	}
	$('s-key').value = sessionStorage.getItem(KEPT) || '';
	$('s-key').onchange = () => { sessionStorage.setItem(KEPT, $('s-key').value); models(); };
	$('form').onsubmit = (e) => { e.preventDefault(); send(); };
	$('words').onkeydown = (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); send(); } };
	$('stop').onclick = () => running && running.abort();
	$('new').onclick = () => { if (running) return; if (talk().turns.length) add(); save(); draw(); toggle($('show-list'), $('side'), false); $('words').focus(); };
	$('show-settings').onclick = () => toggle($('show-settings'), $('settings'), !isOpen($('settings')));
	$('show-list').onclick = () => toggle($('show-list'), $('side'), !isOpen($('side')));
	addEventListener('keydown', (e) => { if (e.key === 'Escape' && !e.isComposing) leave(); });
	draw();
	for (const t of kept.talks.map((k) => k.turns[k.turns.length - 1])) {
		if (!t || !t.unfinished) continue;
		delete t.unfinished;
		if (t === talk().turns[talk().turns.length - 1]) say('The page was closed during this answer: Regenerate gives it again.');
	}
	addEventListener('pagehide', () => { if (running) save(); });
	models();
	setInterval(look, 1000);
	$('words').focus();
}

begin();
