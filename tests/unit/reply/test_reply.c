/* tests/unit/reply/test_reply.c - parsing answers, whole and in pieces: the cases of llama.cpp
 * for many templates, calls as the templates write them, cases of our own, and failing memory. */
#include "../nth.h"
#include "../shared.h"
#include <infer/reply.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "../values.h"
#include "marked.h"
#include <dirent.h>

static char *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	enum { MOST = 1 << 20 };
	char *s = malloc(MOST);

	assert_non_null(f);
	assert_non_null(s);
	*n = fread(s, 1, MOST, f);
	assert_true(*n < MOST);
	s[*n] = 0;
	fclose(f);
	return s;
}

/* ---- reading ---- */

struct grown {
	size_t content, reasoning, calls, arguments[8];
	uint64_t hash[10];
};

static uint64_t hash(struct infer_str s, size_t n)
{
	uint64_t h = 1469598103934665603u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s.at[i]) * 1099511628211u;
	return h;
}

static void only_more(struct infer_str now, size_t *len, uint64_t *h)
{
	assert_true(now.len >= *len);
	assert_true(hash(now, *len) == *h || !*len);
	*len = now.len;
	*h = hash(now, now.len);
}

/* What was there is there still. */
static void check_grown(const infer_reply *r, struct grown *g)
{
	struct infer_reply_parts p;

	infer_reply_get(r, &p);
	only_more(p.content, &g->content, &g->hash[0]);
	only_more(p.reasoning, &g->reasoning, &g->hash[1]);
	assert_true(p.n_calls >= g->calls);
	g->calls = p.n_calls;
	for (size_t i = 0; i < p.n_calls && i < 8; i++) {
		struct infer_reply_call c;
		infer_reply_call(r, i, &c);
		only_more(c.arguments, &g->arguments[i], &g->hash[2 + i]);
	}
}

static void put(struct arena *a, struct json *o, const char *key, struct infer_str s)
{
	json_set(o, key, json_new_strn(a, s.at, s.len));
}

/* An answer as JSON: {content, reasoning, tool_calls}.  cut: where the first piece ends; 0: one
 * code point at a time; n: whole */
static const struct json *answer(struct arena *a, const infer_chat *chat,
                                 const struct infer_reply_options *o, const char *s, size_t n,
                                 size_t cut)
{
	struct infer_reply_parts p;
	struct grown g = { 0 };
	infer_reply *r;
	infer_error err = { 0 };
	uint32_t cp;

	assert_int_equal(infer_reply_new(&r, chat, o, &err), INFER_OK);
	check_grown(r, &g);
	for (size_t i = 0, k; i < n; i += k) {
		k = utf8_get(s + i, n - i, &cp);
		k = cut ? (i ? n - i : cut) : k ? k : 1;
		assert_int_equal(infer_reply_put(r, s + i, k, &err), INFER_OK);
		check_grown(r, &g);
	}
	assert_int_equal(infer_reply_end(r, &err), INFER_OK);
	check_grown(r, &g);
	infer_reply_get(r, &p);
	struct json *j = json_new(a, JSON_OBJECT), *calls = json_new(a, JSON_ARRAY);
	for (size_t i = 0; i < p.n_calls; i++) {
		struct json *call = json_new(a, JSON_OBJECT);
		struct infer_reply_call c;
		infer_reply_call(r, i, &c);
		put(a, call, "name", c.name);
		put(a, call, "id", c.id);
		put(a, call, "arguments", c.arguments);
		json_set(call, "whole", json_new_int(a, c.whole));
		json_append(calls, call);
	}
	put(a, j, "content", p.content);
	put(a, j, "reasoning", p.reasoning);
	json_set(j, "tool_calls", calls);
	infer_reply_free(r);
	assert_false(a->bad);
	return j;
}

/* ---- comparing ---- */

static int same_trimmed(const struct json *a, const struct json *b)
{
	const char *s[2] = { json_str(a), json_str(b) };
	size_t n[2] = { json_bytes(a), json_bytes(b) };

	for (int i = 0; i < 2; i++) {
		while (n[i] && strchr(" \n\t", s[i][0]))
			s[i]++, n[i]--;
		while (n[i] && strchr(" \n\t", s[i][n[i] - 1]))
			n[i]--;
	}
	return n[0] == n[1] && (!n[0] || !memcmp(s[0], s[1], n[0]));
}

static int same_arguments(const struct json *a, const struct json *b)
{
	struct arena arena;

	arena_init(&arena, MEM_TEXT);
	const struct json *x = value_n(&arena, json_str(a), json_bytes(a)),
			  *y = value_n(&arena, json_str(b), json_bytes(b));
	int same = x && y ? same_value(x, y) : !x && !y && same_trimmed(a, b);
	arena_fini(&arena);
	return same;
}

/* The cases of others do not count the white space around a text. */
static int same_text(const struct json *a, const struct json *b, int exactly)
{
	return exactly ? same_value(a, b) : same_trimmed(a, b);
}

static int same_answer(const struct json *got, const struct json *want, int exactly)
{
	const struct json *a = json_get(got, "tool_calls"), *b = json_get(want, "tool_calls"),
			  *r = json_get(want, "reasoning"), *d = json_first(b);

	if (!r)
		r = json_get(want, "reasoning_content");
	if (json_count(a) != json_count(b) ||
	    !same_text(json_get(got, "content"), json_get(want, "content"), exactly) ||
	    !same_text(json_get(got, "reasoning"), r, exactly))
		return 0;
	json_each(c, a) {
		const struct json *id = json_get(d, "id");
		if (!same_value(json_get(c, "name"), json_get(d, "name")) ||
		    (id && !same_value(json_get(c, "id"), id)) ||
		    !same_arguments(json_get(c, "arguments"), json_get(d, "arguments")))
			return 0;
		d = d->next;
	}
	return 1;
}

static void check_answer(const char *what, const infer_chat *chat,
                         const struct infer_reply_options *o, const char *s, size_t n,
                         const struct json *want, int exactly)
{
	struct arena a, once;
	uint32_t cp;

	arena_init(&a, MEM_TEXT);
	arena_init(&once, MEM_TEXT);
	const struct json *whole = answer(&a, chat, o, s, n, n);
	if (!same_answer(whole, want, exactly))
		fail_msg("%s\nof   %.*s\nread %s\nnot  %s", what, (int)n, s, written(&a, whole),
		         written(&a, want));
	for (size_t i = 0; i < n;
	     i += i ? (utf8_get(s + i, n - i, &cp) ? utf8_get(s + i, n - i, &cp) : 1) : 1) {
		const struct json *parts = answer(&once, chat, o, s, n, i);
		if (!same_value(parts, whole))
			fail_msg("%s, cut at %zu of\n     %.*s\nread %s\nnot  %s", what, i, (int)n,
			         s, written(&a, parts), written(&a, whole));
		arena_reset(&once);
	}
	arena_fini(&once);
	arena_fini(&a);
}

/* ---- the cases of others ---- */

/* Tools in OpenAI's format. */
static const struct json *tools_of(struct arena *a, const struct json *given)
{
	struct json *tools = json_new(a, JSON_ARRAY);

	json_each(t, given) {
		struct json *f = json_is_array(t) ? json_new(a, JSON_OBJECT) : json_share(a, t),
			    *tool = json_new(a, JSON_OBJECT);
		const struct json *parameters = json_at(t, 2);
		if (json_is_array(t)) {
			json_set(f, "name", json_share(a, json_at(t, 0)));
			json_set(f, "description", json_share(a, json_at(t, 1)));
			json_set(f, "parameters",
			         json_share(a, value_n(a, json_str(parameters),
			                               json_bytes(parameters))));
		}
		json_set(tool, "type", json_new_str(a, "function"));
		json_set(tool, "function", f);
		json_append(tools, tool);
	}
	return tools;
}

static infer_chat *open_template(const char *name)
{
	char rel[512], path[SHARED_PATH];
	infer_chat *chat = NULL;
	infer_error err = { 0 };
	size_t n;

	snprintf(rel, sizeof rel, "data/chat-templates/templates/%s", name);
	if (!shared_find(rel, path))
		return NULL;
	char *source = read_file(path, &n);
	if (infer_chat_open(&chat, source, n, name, &err))
		fail_msg("%s: %s", name, err.message);
	free(source);
	return chat;
}

static void check_row(struct arena *a, const struct json *row)
{
	static const char hey[] = "[{\"role\":\"user\",\"content\":\"Hey there!\"}]";
	const struct json *params = json_get(row, "params"),
			  *thinking = json_get(params, "enable_thinking"),
			  *input = json_get(row, "input");
	const struct json *format = json_get(params, "reasoning_format");
	const char *name = text_of(a, json_get(row, "template")),
		   *tools_text = written(a, tools_of(a, json_get(params, "tools")));
	infer_tools *tools = read_tools(tools_text);
	infer_chat *chat = open_template(name);
	char *prompt = NULL;
	struct infer_conversation c = { .messages = hey,
		                        .messages_n = sizeof hey - 1,
		                        .tools = tools,
		                        .think = json_is(thinking, JSON_FALSE) ? INFER_THINK_OFF
		                                                               : INFER_THINK_ON };
	struct infer_reply_options o = { .tools = tools };

	assert_non_null(chat);
	/* one template needs more than it is given */
	infer_chat_render(chat, NULL, &c, &prompt, NULL, &o.prompt_n, NULL);
	o.prompt = prompt;
	o.flags = !json_is_string(format) || json_equals(format, "none") ? INFER_REPLY_INLINE : 0;
	o.flags |= json_get(params, "json_schema") ? INFER_REPLY_JSON : 0;
	check_answer(name, chat, &o, json_str(input), json_bytes(input), json_get(row, "expected"),
	             0);
	infer_tools_free(tools);
	infer_chat_free(prompt);
	infer_chat_close(&chat);
}

/* Cases of which llama.cpp, when these were taken, had another opinion than now: a call in
 * reasoning that is still open is made, the last newline of a value that no newline begins is part
 * of it, and strings in the way of Python have Python's escapes. */
static int is_old(const struct json *row)
{
	static const char *const old[][2] = {
		{ "Qwen3.5-4B.jinja", "Not the real call!" },
		{ "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja", "Not the real call!" },
		{ "ByteDance-Seed-OSS.jinja", "\"bar\"\n\n</parameter>" },
		{ "LFM2-8B-A1B.jinja", "def hello():\\n" },
	};
	const struct json *input = json_get(row, "input");

	for (size_t i = 0; i < sizeof old / sizeof *old; i++)
		if (json_equals(json_get(row, "template"), old[i][0]) &&
		    memmem(json_str(input), json_bytes(input), old[i][1], strlen(old[i][1])))
			return 1;
	return 0;
}

static void test_cases_of_others(void **state)
{
	char path[SHARED_PATH], *line = NULL;
	size_t cap = 0;
	int read = 0, without = 0, old = 0;
	struct arena a;

	(void)state;
	shared_need("data/extracted/chat_output_parse.jsonl", 247, path);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	arena_init(&a, MEM_TEXT);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
		const struct json *row = value_n(&a, line, (size_t)n);
		const char *name = text_of(&a, json_get(row, "template"));
		assert_non_null(name);
		infer_chat *chat = open_template(name);
		if (chat && !is_old(row))
			check_row(&a, row);
		old += is_old(row);
		read += !!chat;
		without += !chat;
		infer_chat_close(&chat);
		arena_reset(&a);
	}
	arena_fini(&a);
	free(line);
	fclose(f);
	assert_int_equal(read, 247);
	assert_int_equal(without, 5);
	assert_int_equal(old, 4);
}

/* ---- our own cases, and templates read back what they write ---- */

static void check_own(struct arena *a, const struct json *row, const struct json *source,
                      const char *tools)
{
	const struct json *input = json_get(row, "input"), *prompt = json_get(row, "prompt");
	const char *name = text_of(a, json_get(row, "template"));
	infer_tools *read = read_tools(tools);
	struct infer_reply_options o = { .tools = read,
		                         .prompt = prompt ? json_str(prompt) : NULL,
		                         .prompt_n = json_bytes(prompt),
		                         .flags = (json_get(row, "inline") ? INFER_REPLY_INLINE
		                                                           : 0u) |
		                                  (json_get(row, "json") ? INFER_REPLY_JSON : 0u) };
	infer_chat *chat;
	infer_error err = { 0 };

	assert_int_equal(infer_chat_open(&chat, json_str(source), json_bytes(source), name, &err),
	                 INFER_OK);
	check_answer(name, chat, &o, json_str(input), json_bytes(input), row, 1);
	infer_tools_free(read);
	infer_chat_close(&chat);
}

/* Each way to write calls is known by its template. */
static void check_reads(struct arena *a, const struct json *row)
{
	const struct json *source = json_get(row, "source");
	const char *name = text_of(a, json_get(row, "name"));
	infer_error err = { 0 };
	struct infer_str open;
	infer_chat *chat;
	int reads = 0;

	assert_int_equal(infer_chat_open(&chat, json_str(source), json_bytes(source), name, &err),
	                 INFER_OK);
	assert_int_equal(infer_reply_reads(chat, &reads, &err), INFER_OK);
	if (!reads)
		fail_msg("%s: what the template writes is not read", name);
	infer_reply_reasoning(chat, "", 0, &open);
	if (open.len && strchr(" \n", *open.at))
		fail_msg("%s: the engine never finds what begins with white space", name);
	infer_chat_close(&chat);
}

static void test_own_cases(void **state)
{
	FILE *f = fopen("tests/golden/reply/cases.jsonl", "rb");
	const char *tools = NULL;
	char *line = NULL;
	size_t cap = 0;
	int cases = 0;
	struct arena a;

	(void)state;
	assert_non_null(f);
	arena_init(&a, MEM_TEXT);
	struct json *chats = json_new(&a, JSON_OBJECT);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
		const struct json *row = value_n(&a, arena_strndup(&a, line, (size_t)n), (size_t)n),
				  *name = json_get(row, "template");
		assert_non_null(row);
		if (json_get(row, "source"))
			check_reads(&a, row);
		if (json_get(row, "source"))
			json_set(chats, text_of(&a, json_get(row, "name")),
			         json_share(&a, json_get(row, "source")));
		else if (json_get(row, "tools"))
			tools = written(&a, json_get(row, "tools"));
		else
			check_own(&a, row, json_getn(chats, json_str(name), json_bytes(name)),
			          tools);
		cases += json_get(row, "input") != NULL;
	}
	assert_true(cases > 180);
	arena_fini(&a);
	free(line);
	fclose(f);
}

#define SAYS(more) "[{\"role\":\"user\",\"content\":\"@USER@\"}" more "]"
#define CALLS \
	SAYS(",{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"REASON\",\"tool_" \
	     "calls\":[{\"id\":\"call00001\"," \
	     "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":" ARGUMENTS "}}]}")
#define ARGUMENTS "{\"a\":\"x \\\"y\\\" [z]\\nz\",\"n\":-7,\"l\":[1.5,{\"b\":true,\"c\":\"}\"}]}"

static infer_tools *tools_f; /* tool_f, read */

static char *rendered(const infer_chat *chat, const char *messages, uint32_t flags, size_t *n)
{
	struct infer_conversation c = { .messages = messages,
		                        .messages_n = strlen(messages),
		                        .tools = tools_f,
		                        .think = INFER_THINK_ON,
		                        .flags = flags };
	char *text = NULL;

	infer_chat_render(chat, NULL, &c, &text, NULL, n, NULL);
	return text;
}

/* What the template writes for a call is read as that call.  0: the template does not write it. */
static int check_turn(const char *name, const infer_chat *chat)
{
	struct infer_reply_options o = { .tools = tools_f };
	size_t n = 0;
	char *prompt = rendered(chat, SAYS(), 0, &o.prompt_n),
	     *full = rendered(chat, CALLS, INFER_CHAT_NO_PROMPT, &n);
	char *turn = full ? strstr(full, "@USER@") : NULL, *next;
	struct arena a;
	int there, follows = prompt && full && n > o.prompt_n && !memcmp(prompt, full, o.prompt_n);

	while (turn && (next = strstr(turn + 1, "@USER@")))
		turn = next;
	turn = follows ? full + o.prompt_n : turn;
	there = turn && strstr(turn, "[z]");
	if (there) {
		o.prompt = follows ? prompt : NULL;
		arena_init(&a, MEM_TEXT);
		const struct json *j = answer(&a, chat, &o, turn, n - (size_t)(turn - full), 0),
				  *calls = json_get(j, "tool_calls");
		const struct json *want = json_new_str(&a, ARGUMENTS), *f = json_first(calls);
		if (json_count(calls) != 1 || !same_arguments(json_get(f, "arguments"), want) ||
		    !json_get(f, "whole") ||
		    (follows && strstr(turn, "REASON") &&
		     !strstr(text_of(&a, json_get(j, "reasoning")), "REASON")))
			fail_msg("%s\nof   %s\nread %s", name, turn, written(&a, j));
		arena_fini(&a);
	}
	infer_chat_free(prompt);
	infer_chat_free(full);
	return there;
}

static void test_turns(void **state)
{
	char path[SHARED_PATH];
	int n = 0, there = 0;

	(void)state;
	shared_need("data/chat-templates/templates", 55, path);
	DIR *d = opendir(path);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (!strstr(e->d_name, ".jinja"))
			continue;
		infer_chat *chat = open_template(e->d_name);
		assert_non_null(chat);
		there += check_turn(e->d_name, chat);
		n++;
		infer_chat_close(&chat);
	}
	closedir(d);
	assert_int_equal(n, 55);
	assert_true(there >= 30);
}

/* ---- failing memory ---- */

static infer_chat *chats[5]; /* opened before: their own allocations are many */

static int read_case(const infer_chat *chat, const char *text)
{
	struct infer_reply_options o = { .tools = tools_f, .prompt = "<think>", .prompt_n = 7 };
	infer_reply *r = NULL;
	struct infer_reply_parts p;
	int rc;

	nth_ok(infer_reply_new(&r, chat, &o, NULL));
	for (size_t n = strlen(text), i = 0; i < n; i += 7)
		nth_ok(infer_reply_put(r, text + i, n - i < 7 ? n - i : 7, NULL));
	nth_ok(infer_reply_end(r, NULL));
	infer_reply_get(r, &p);
	assert_true(p.content.len == 2 && p.reasoning.len == 3 && p.n_calls == 2);
	for (size_t i = 0; i < 2; i++) {
		struct infer_reply_call c;
		infer_reply_call(r, i, &c);
		assert_true(c.arguments.len >= 2 && c.whole);
	}
out:
	infer_reply_free(r);
	return rc;
}

static int case_envelope(void)
{
	return read_case(chats[0], "why</"
	                           "think>so<tool_call>[{\"name\":\"f\",\"arguments\":\"{}\","
	                           "\"id\":\"1\"},{\"name\":\"f\"}]</tool_call>");
}

static int case_tags(void)
{
	return read_case(chats[1], "why</think>so<function=f><parameter=a>b</"
	                           "parameter><parameter=l>[1, {'a': None}]</parameter></function>"
	                           "<function=f><parameter=n>1</parameter></function>");
}

static int case_nested(void)
{
	return read_case(chats[3], "why</think>so]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<l>"
	                           "]<]minimax[>[<item>x]<]minimax[>[</item>]<]minimax[>[</l>"
	                           "]<]minimax[>[</invoke>]<]minimax[>[<invoke name=\"f\">"
	                           "]<]minimax[>[</invoke>");
}

static int case_python(void) { return read_case(chats[2], "why</think>so [f(a='b', l=[1]), f()]"); }

/* The calls of a template are in no form that is known, though its source has the sign of one. */
static int case_not_read(void)
{
	struct infer_calls_options o = { .tools = tools_f, .choice = INFER_CALLS_AUTO };
	infer_grammar *g = NULL;
	infer_error err = { 0 };
	int reads = 1, rc;

	nth_ok(infer_reply_reads(chats[4], &reads, &err));
	assert_false(reads);
	nth_ok(infer_reply_constrain(&g, chats[4], &o, &err));
	assert_null(g);
	o.choice = INFER_CALLS_REQUIRED;
	nth_fails(infer_reply_constrain(&g, chats[4], &o, &err), INFER_EEMPTY);
	assert_non_null(strstr(err.message, "form that is not known"));
out:
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases_of_others),
		cmocka_unit_test(test_own_cases),
		cmocka_unit_test(test_turns),
		nth_case(case_envelope),
		nth_case(case_tags),
		nth_case(case_python),
		nth_case(case_nested),
		nth_case(case_not_read),
	};

	tools_f = read_tools(tool_f);
	for (int i = 0; i < 3; i++)
		chats[i] = marked_chat(marked[i]);
	chats[3] = marked_chat("{# ]<]minimax[>[<tool_call> #}");
	chats[4] = marked_chat("{{ tools }}{# <tool_call> #}{% for m in messages %}{% for c in "
	                       "m.tool_calls or [] %}(({{ c.function.name }} "
	                       "{{ c.function.arguments }})){% endfor %}{% endfor %}");
	int bad = nth_group(tests);
	for (int i = 0; i < 5; i++)
		infer_chat_close(&chats[i]);
	infer_tools_free(tools_f);
	return bad;
}
