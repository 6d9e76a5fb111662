/* tests/unit/reply/test_calls.c - constraints of answers with tool calls: random texts that they
 * admit, in each dialect, are read back as calls whose arguments satisfy the schemas. */
#include "../nth.h"
#include <infer/reply.h>
#include <stdlib.h>
#include "../follow.h"
#include "../values.h"
#include "base/rng.h"
#include "chat/calls.h"
#include "chat/chat.h"
#include "chat/dialect.h"
#include "grammar/shared.h"
#include "marked.h"

static const char tools_json[] =
	"[{'type':'function','function':{'name':'get','parameters':{'type':'object','properties':{"
	"'city':{'type':'string','minLength':1,'maxLength':12},'unit':{'enum':['c','f']},"
	"'days':{'type':'integer','minimum':1,'maximum':14},'now':{'type':'boolean'}},"
	"'required':['city','days']}}},"
	"{'type':'function','function':{'name':'get_more','parameters':{'type':'object',"
	"'properties':{'at':{'type':'array','items':{'type':'number'},'minItems':1,'maxItems':3},"
	"'note':{'type':['string','null'],'maxLength':8},'deep':{'type':'object','properties':{"
	"'text':{'type':'string','maxLength':9},'ok':{'type':['boolean','null']}},"
	"'required':['text']},'code':{'type':'string','pattern':'^[a-z<\\\\/]{2,20}$'}},"
	"'required':['note']}}},"
	"{'name':'nothing','parameters':{'type':'object','properties':{}}},"
	"{'name':'kinds','parameters':{'type':'object','$defs':{'e':{'enum':['a','1','x y']},"
	"'i':{'type':'integer','minimum':3}},'properties':{"
	"'u':{'anyOf':[{'type':'string','maxLength':6},{'type':'integer','minimum':7}]},"
	"'e':{'$ref':'#/$defs/e'},'i':{'$ref':'#/$defs/i'},"
	"'o':{'type':'object','properties':{'v':{'oneOf':[{'type':'integer'},{'type':'string',"
	"'maxLength':5,'pattern':'^[0-9a-f]*$'}]},'w':{'type':'array','items':{'type':['string',"
	"'boolean'],'maxLength':4},'maxItems':2},'e':{'$ref':'#/$defs/e'},'item':{'type':'string',"
	"'maxLength':3}},'required':['v','w']}},'required':['u','o']}},"
	"{'name':'unsaid','parameters':{'type':'object','properties':{'x':{'minimum':1,"
	"'maxLength':4,'not':{'type':['object','array']}},'o':{'type':'object',"
	"'properties':{'y':{'maxLength':3,'not':{'type':['object','array']}}},"
	"'required':['y']}},'required':['x']}}]";
enum { N_TOOLS = 5 };
/* its texts may contain what looks like the tags of calls */
#define ANSWER_SCHEMA \
	"{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\",\"pattern\":" \
	"\"^(<tool_call>|<function=get>|[a-z<>=]){1,4}$\"},\"a\":{\"type\":\"array\",\"items\":{" \
	"\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":1," \
	"\"maximum\":99}},\"required\":[\"n\"],\"additionalProperties\":false},\"maxItems\":2}}," \
	"\"required\":[\"s\",\"a\"],\"additionalProperties\":false}"

/* what the vocabularies of such models have as tokens; a text can be read with and without */
static const char *const tags[] = {
	"<tool_call>",      "</tool_call>",    "<|channel|>",    "<|message|>",
	"<|end|>",          "<|start|>",       "<|constrain|>",  "<think>",
	"</think>",         "<|tool_call>",    "<tool_call|>",   "<|\"|>",
	"[TOOL_CALLS]",     "[ARGS]",          "[CALL_ID]",      "<|tool_call_start|>",
	"<|START_ACTION|>", "<|END_ACTION|>",  "<|python_tag|>", "<｜tool▁calls▁begin｜>",
	"<arg_key>",        "<｜tool▁sep｜>",  "</arg_value>",   "<|tool_call_begin|>",
	"<|tools_prefix|>", "<|message_sep|>", "<|role_sep|>",   "｜DSML｜",
};
enum { N_TAGS = sizeof tags / sizeof *tags };

struct row {
	infer_chat *chat;
	infer_tools *tools;
	struct arena a;
	struct grammar *schema[N_TOOLS]; /* of the tools, as written */
	struct grammar *answer;          /* of text, if there is no call; NULL: any */
};

static uint32_t draw(uint64_t seed, uint64_t *at, uint32_t n)
{
	uint32_t r[4];

	rng_block(r, seed, (*at)++);
	return r[0] % n;
}

/* -- random texts --------------------------------------------------------------------------- */

struct walk {
	struct match *m;
	struct match_state at, next;
	struct buf text;
	uint64_t seed, place;
	const char *close[4]; /* what free text is ended with */
};

static int take(struct walk *w, int b)
{
	assert_int_equal(match_copy(w->m, &w->next, &w->at, NULL), INFER_OK);
	assert_int_equal(match_byte(w->m, &w->next, (uint8_t)b, NULL), INFER_OK);
	if (!match_live(&w->next))
		return 0;
	const struct match_state was = w->at;

	w->at = w->next;
	w->next = was;
	buf_putc(&w->text, (char)b);
	return 1;
}

/* A byte that goes on with a closing text of which the end of the text is a beginning. */
static int take_close(struct walk *w)
{
	for (size_t i = 0; i < 4 && w->close[i]; i++) {
		const char *s = w->close[i];

		for (size_t k = strlen(s); k--;)
			if (k <= w->text.len &&
			    (!k || !memcmp(w->text.at + w->text.len - k, s, k)) &&
			    take(w, (unsigned char)s[k]))
				return 1;
	}
	return 0;
}

static int step(struct walk *w)
{
	static const char ends[] = "\xff\"}])><,";
	const int late = w->text.len > 400;

	if ((late || !draw(w->seed, &w->place, 4)) && take_close(w))
		return 1;
	if (late || !draw(w->seed, &w->place, 3))
		for (size_t i = 0; i < sizeof ends - 1; i++)
			if (take(w, (unsigned char)ends[i]))
				return 1;
	for (int i = 0; i < 12; i++)
		if (take(w, ' ' + (int)draw(w->seed, &w->place, 95)))
			return 1;
	for (int i = 0, from = (int)draw(w->seed, &w->place, 256); i < 256; i++)
		if (take(w, (from + i) & 255))
			return 1;
	return 0;
}

/* A text of the constraint.  0: none within the limit */
static int walk(struct walk *w, const struct grammar *g)
{
	const struct budget most = { 1 << 22, 1 << 26 };
	int whole = 0;

	buf_init(&w->text, MEM_TEXT);
	w->at = w->next = (struct match_state){ 0 };
	assert_int_equal(match_new(&w->m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(w->m, &w->at, NULL), INFER_OK);
	while (w->text.len < 6000 && !whole) {
		const int may = match_may_end(w->m, &w->at);

		if (may && (w->text.len > 400 || !draw(w->seed, &w->place, 3)))
			whole = 1;
		else if (!step(w)) {
			assert_true(may);
			whole = 1;
		}
	}
	match_drop(w->m, &w->at);
	match_drop(w->m, &w->next);
	match_free(w->m);
	return whole;
}

/* -- reading back --------------------------------------------------------------------------- */

/* Control tokens become their texts. */
static void plain(struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		if ((unsigned char)b->at[i] != 0xff)
			b->at[n++] = b->at[i];
	b->len = n;
}

static void check_call(const struct row *row, const struct infer_reply_call *c, const char *text)
{
	static const char *const names[] = { "get", "get_more", "nothing", "kinds", "unsaid" };
	infer_error err = { 0 };
	size_t i = 0, taken;

	while (i < N_TOOLS && strcmp(names[i], c->name.at) != 0)
		i++;
	if (i == N_TOOLS || !c->whole)
		fail_msg("%s: not whole: %s", row->chat->calls->name, text);
	if (follow(row->schema[i], MATCH_ANY, c->arguments.at, c->arguments.len, &taken, &err) != 1)
		fail_msg("%s: %.*s\nof: %s", row->chat->calls->name, (int)c->arguments.len,
		         c->arguments.at, text);
}

/* Without calls the content satisfies the answer's own constraint; otherwise there is none. */
static void check_answer(const struct row *row, const struct infer_reply_parts *p, const char *text)
{
	size_t taken;

	if (p->n_calls ? p->content.len > 0
	               : follow(row->answer, MATCH_ANY, p->content.at, p->content.len, &taken,
	                        NULL) != 1)
		fail_msg("%s: %zu calls, content \"%.*s\", of: %s", row->chat->calls->name,
		         p->n_calls, (int)p->content.len, p->content.at, text);
}

static size_t read_back(const struct row *row, struct buf *text, const char *prompt, int only_calls)
{
	const struct infer_reply_options o = { .tools = row->tools,
		                               .prompt = prompt,
		                               .prompt_n = strlen(prompt),
		                               .flags = row->answer ? INFER_REPLY_EITHER : 0 };
	struct infer_reply_parts p;
	struct infer_reply_call c;
	infer_reply *r;

	plain(text);
	buf_putc(text, 0);
	assert_int_equal(infer_reply_new(&r, row->chat, &o, NULL), INFER_OK);
	assert_int_equal(infer_reply_put(r, text->at, text->len - 1, NULL), INFER_OK);
	assert_int_equal(infer_reply_end(r, NULL), INFER_OK);
	infer_reply_get(r, &p);
	for (size_t i = 0; i < p.n_calls; i++) {
		infer_reply_call(r, i, &c);
		check_call(row, &c, text->at);
	}
	if (row->answer)
		check_answer(row, &p, text->at);
	if (only_calls && (!p.n_calls || p.content.len))
		fail_msg("%s: %zu calls, content \"%.*s\", of: %s", row->chat->calls->name,
		         p.n_calls, (int)p.content.len, p.content.at, text->at);
	infer_reply_free(r);
	return p.n_calls;
}

static size_t walks(const struct row *row, const struct calls_ask *ask, int n)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	infer_error err = { 0 };
	struct grammar *g;
	size_t calls = 0;

	if (calls_grammar(&g, row->chat, ask, &left, &err))
		fail_msg("%s: %s", row->chat->calls->name, err.message);
	if (ir_is_none(g))
		fail_msg("%s: no text", row->chat->calls->name);
	for (int i = 0; i < n; i++) {
		struct walk w = { .seed = (uint64_t)i,
			          .close = { row->chat->calls->messages
			                             ? row->chat->calls->messages->finished
			                             : row->chat->think->close,
			                     "<|\"|>", row->chat->calls->param_end } };

		if (!walk(&w, g))
			fail_msg("%s: no end: %.*s", row->chat->calls->name, (int)w.text.len,
			         w.text.at);
		calls += read_back(row, &w.text, ask->prompt, ask->required);
		buf_fini(&w.text);
	}
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	return calls;
}

/* -- dialects ------------------------------------------------------------------------------- */

static void open_row(struct row *row, const struct dialect *f, const struct dialect_form *form)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	size_t i = 0;
	char source[512];
	infer_error err;

	row->answer = NULL;
	snprintf(source, sizeof source, "{# %s %s %s </think> #}{{ messages[0].content }}",
	         f->sign[0] ? f->sign[0] : "", f->sign[1] ? f->sign[1] : "",
	         form->sign ? form->sign : "");
	assert_int_equal(infer_chat_open(&row->chat, source, strlen(source), "t", &err), INFER_OK);
	assert_string_equal(row->chat->calls->name, f->name);
	arena_init(&row->a, MEM_TEXT);
	const struct json *v = value(&row->a, tools_json);

	assert_non_null(v);
	row->tools = read_tools(written(&row->a, v));
	json_each(t, v) {
		const struct json *s = json_get(
			json_get(t, "function") ? json_get(t, "function") : t, "parameters");

		assert_int_equal(schema_compile(&row->schema[i++], s, NULL, &left, NULL), INFER_OK);
	}
}

static void close_row(struct row *row)
{
	for (size_t i = 0; i < N_TOOLS; i++)
		ir_free(row->schema[i]);
	ir_free(row->answer);
	infer_tools_free(row->tools);
	infer_chat_close(&row->chat);
	arena_fini(&row->a);
}

static void test_dialects(void **state)
{
	struct dfa_word word[N_TAGS];
	const int n = getenv("LONG") ? 100 : 3;
	size_t several = 0, opened = 0;

	(void)state;
	for (size_t i = 0; i < N_TAGS; i++)
		word[i] = (struct dfa_word){ tags[i], strlen(tags[i]) };
	for (size_t i = 0; dialect_at(i); i++) {
		const struct dialect *f = dialect_at(i);

		for (size_t k = 0; k < 3 && f->form[k].call; k++) {
			struct row row;
			struct calls_ask ask = { .required = 1, .only = -1, .prompt = "" };

			open_row(&row, f, &f->form[k]);
			ask.tools = row.tools;
			if (f->form[k].between)
				several += walks(&row, &ask, n) - (size_t)n;
			else
				assert_int_equal(walks(&row, &ask, n), n);
			ask.controls = word;
			ask.n_controls = N_TAGS;
			ask.only = 1;
			ask.single = 1;
			ask.prompt = f->begun ? f->begun : "x<think>\n";
			ask.prompt_n = strlen(ask.prompt);
			assert_int_equal(walks(&row, &ask, n), n);
			ask.required = 0;
			ask.only = -1;
			opened += walks(&row, &ask, n);
			close_row(&row);
		}
	}
	assert_true(several > 20 && opened > 10);
}

static size_t answer_walks(const struct dialect *f, const struct infer_grammar_source *s,
                           const struct dfa_word *word, int reasons, int n)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct calls_ask ask = {
		.only = -1, .single = 1, .answer = s, .controls = word, .n_controls = N_TAGS
	};
	struct row row;
	size_t calls;

	open_row(&row, f, &f->form[0]);
	assert_int_equal(grammar_compile(&row.answer, s, &left, NULL), INFER_OK);
	ask.tools = row.tools;
	ask.prompt = f->begun ? f->begun : reasons ? "x<think>\n" : "";
	ask.prompt_n = strlen(ask.prompt);
	calls = walks(&row, &ask, n);
	close_row(&row);
	return calls;
}

#define TEXT(s) \
	{ \
		s, sizeof s - 1 \
	}
/* The answer is calls, or a text of the constraint: of each form, in each dialect. */
static void test_answers(void **state)
{
	static const struct infer_grammar_source sources[] = {
		{ .form = INFER_GRAMMAR_SCHEMA, .text = TEXT(ANSWER_SCHEMA) },
		{ .form = INFER_GRAMMAR_REGEX, .text = TEXT("<[a-f]{2,9}>(,|ab){1,5}") },
		{ .form = INFER_GRAMMAR_CHOICE, .text = TEXT("[\"Yes.\",\"No!\",\"<x>\"]") },
		{ .form = INFER_GRAMMAR_RULES,
		  .text = TEXT("root ::= w (\", \" w){0,4} \".\"\nw ::= [a-z]{1,9}") },
	};
	struct dfa_word word[N_TAGS];
	const int n = getenv("LONG") ? 100 : 3;
	size_t calls = 0, all = 0;

	(void)state;
	for (size_t i = 0; i < N_TAGS; i++)
		word[i] = (struct dfa_word){ tags[i], strlen(tags[i]) };
	for (size_t i = 0; dialect_at(i); i++)
		for (size_t k = 0; k < 4; k++) {
			calls += answer_walks(dialect_at(i), sources + k, word, k % 2, n);
			all += (size_t)n;
		}
	assert_true(calls > all / 20 && calls < all - all / 20);
}

/* 1: the text is one that the constraint of calls admits. */
static int admits(const struct row *row, const struct calls_ask *ask, const char *text)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	infer_error err = { 0 };
	struct grammar *g;
	size_t taken;
	int yes;

	assert_int_equal(calls_grammar(&g, row->chat, ask, &left, &err), INFER_OK);
	yes = follow(g, MATCH_TIDY, text, strlen(text), &taken, &err) == 1;
	ir_free(g);
	return yes;
}

/* A call may be made in open reasoning if the reader takes it for one, but not if one is required:
 * then the reasoning must be closed. */
static void test_in_reasoning(void **state)
{
	static const char call[] =
		"Look.<tool_call>\n<function=nothing>\n</function>\n</tool_call>",
			  closed[] = "Look.</think>\n\n"
				     "<tool_call>\n<function=nothing>\n</function>\n</tool_call>",
			  broken[] = "Look.<tool_call>\n<function=none>\n</function>\n</tool_call>";
	struct calls_ask ask = { .only = -1, .prompt = "<think>\n", .prompt_n = 8 };
	struct row row;
	size_t i = 0;

	(void)state;
	while (strcmp(dialect_at(i)->name, "qwen3-coder") != 0)
		i++;
	open_row(&row, dialect_at(i), &dialect_at(i)->form[0]);
	ask.tools = row.tools;
	assert_true(admits(&row, &ask, call));
	assert_true(admits(&row, &ask, closed));
	assert_false(admits(&row, &ask, broken));
	ask.required = 1;
	assert_false(admits(&row, &ask, call));
	assert_true(admits(&row, &ask, closed));
	close_row(&row);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dialects),
		                            cmocka_unit_test(test_answers),
		                            cmocka_unit_test(test_in_reasoning) };

	return nth_group(tests);
}
