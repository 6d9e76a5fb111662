/* tests/unit/api/test_api.c - API formats: bodies that servers receive, and streams whose
 * chunks together are the whole answer. */
#include "../engine/run.h"
#include "../json.h"
#include "events.h"
#include <math.h>

#include <infer/api.h>
#include <infer/reply.h>
#include "base/err.h"
#include "api/api.h"
#include "runner/delta.h"

static infer_model *model;
static infer_chat *chat;
static infer_tools *tools;
static infer_job_reader *reader;

/* ---- bodies ---- */

#define USER "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]"
#define FORMAT(type) "{\"type\":\"json_schema\",\"schema\":{\"type\":\"" type "\"}}"
static const struct {
	const char *form, *body;
	int kind, code;
	const char *param, *says;
} bodies[] = {
	{ "chat", "{" USER ",\"frob\":1}", 0, 0, NULL, "" },
	{ "chat", "{" USER ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}", 0, 0,
	  NULL, "" },
	{ "text", "{\"prompt\":\"x\",\"stream\":null,\"stream_options\":null}", 0, 0, NULL, "" },
	{ "own", "{\"prompt\":\"x\",\"stream\":true}", 0, 0, NULL, "" },
	{ "chat", "{" USER ",\"stream_options\":{}}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "stream_options", "needs stream" },
	{ "chat", "{" USER ",\"stream\":true,\"stream_options\":[]}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "stream_options", "must be an object" },
	{ "chat", "{" USER ",\"stream\":true,\"stream_options\":{\"include_usage\":1}}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "stream_options", "include_usage must be" },
	{ "chat", "{" USER ",\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":1}}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "stream_options", "continuous_usage_stats" },
	{ "chat", "{" USER ",\"stream\":1}", INFER_FAULT_INVALID, INFER_EINVAL, "stream",
	  "must be true or false" },
	{ "chat", "{}", INFER_FAULT_INVALID, INFER_EINVAL, "messages", "messages" },
	{ "chat", "{" USER ",\"temperature\":9e9}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "temperature", "from 0" },
	{ "chat", "{" USER ",\"tools\":[{\"name\":\"f\"}]}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "tools", "entry 0" },
	{ "chat", "{" USER ",\"tools\":[{\"function\":{\"name\":\"\"}}]}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "tools", "entry 0" },
	{ "text", "{\"prompt\":[\"x\",[5,\"the\"]],\"n\":2}", 0, 0, NULL, "" },
	{ "text", "{\"prompt\":[5,[6]]}", INFER_FAULT_INVALID, INFER_EINVAL, "prompt",
	  "neither a text nor a token id" },
	{ "text", "{\"prompt\":[[],\"x\"]}", INFER_FAULT_INVALID, INFER_EINVAL, "prompt", "empty" },
	{ "text", "{\"prompt\":[\"x\",\"x\"],\"n\":65}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "prompt", "at most 128 answers" },
	{ "text", "{\"prompt\":\"x\",\"best_of\":2}", INFER_FAULT_INVALID, INFER_EINVAL, "best_of",
	  "must be equal to n" },
	{ "text", "{\"prompt\":[]}", INFER_FAULT_INVALID, INFER_EINVAL, "prompt", "empty" },
	{ "text", "[1]", INFER_FAULT_INVALID, INFER_EINVAL, NULL, "must be a JSON object" },
	{ "text", "{", INFER_FAULT_INVALID, INFER_EFORMAT, NULL, "request: column 2: " },
	{ "messages", "{\"max_tokens\":2," USER ",\"frob\":1}", 0, 0, NULL, "" },
	{ "messages", "{" USER "}", INFER_FAULT_INVALID, INFER_EINVAL, "max_tokens",
	  "max_tokens is missing" },
	{ "messages", "{\"max_tokens\":0," USER "}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "max_tokens", "at least 1" },
	{ "messages", "{\"max_tokens\":2}", INFER_FAULT_INVALID, INFER_EINVAL, "messages",
	  "messages" },
	{ "messages", "{\"max_tokens\":2,\"n\":2," USER "}", INFER_FAULT_INVALID, INFER_EINVAL, "n",
	  "one answer" },
	{ "messages", "{\"max_tokens\":2,\"messages\":[{\"role\":\"system\",\"content\":\"x\"}]}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "messages", "must be user or assistant" },
	{ "messages",
	  "{\"max_tokens\":2,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
	  "\"tool_result\",\"tool_use_id\":\"x\",\"content\":\"y\"}]}]}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "messages", "names no tool_use" },
	{ "messages", "{\"max_tokens\":2," USER ",\"temperature\":1.5}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "temperature", "from 0 to 1" },
	{ "messages", "{\"max_tokens\":2," USER ",\"tools\":[{\"type\":\"bash_20250124\"}]}",
	  INFER_FAULT_INVALID, INFER_EUNSUP, "tools", "tools that the server runs" },
	{ "messages", "{\"max_tokens\":2," USER ",\"tool_choice\":{\"type\":\"odd\"}}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "tool_choice", "must be auto" },
	{ "messages",
	  "{\"max_tokens\":2," USER ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":5}}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "thinking", "from 1024" },
	{ "messages",
	  "{\"max_tokens\":2," USER ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "thinking", "less than max_tokens" },
	{ "messages", "{\"max_tokens\":2," USER ",\"output_format\":" FORMAT("string") "}", 0, 0,
	  NULL, "" },
	{ "messages",
	  "{\"max_tokens\":2," USER ",\"output_format\":" FORMAT(
		  "string") ",\"output_config\":{\"format\":" FORMAT("string") "}}",
	  0, 0, NULL, "" },
	{ "messages",
	  "{\"max_tokens\":2," USER ",\"output_config\":{\"format\":" FORMAT(
		  "string") "},\"output_format\":" FORMAT("number") "}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "output_format", "must be the same" },
	{ "messages", "{\"max_tokens\":2," USER ",\"output_format\":{\"type\":\"text\"}}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "output_format", "must be json_schema" },
	{ "count", "{" USER "}", 0, 0, NULL, "" },
	{ "count", "{}", INFER_FAULT_INVALID, INFER_EINVAL, "messages", "messages" },
	{ "responses", "{\"input\":\"x\",\"stream\":true}", 0, 0, NULL, "" },
	{ "responses", "{}", INFER_FAULT_INVALID, INFER_EINVAL, "input", "input is missing" },
	{ "responses", "{\"input\":[{\"role\":\"odd\",\"content\":\"x\"}]}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "input", "the role is none" },
	{ "responses", "{\"input\":[{\"type\":\"item_reference\",\"id\":\"x\"}]}",
	  INFER_FAULT_INVALID, INFER_EUNSUP, "input", "item_reference" },
	{ "responses", "{\"input\":\"x\",\"previous_response_id\":\"y\"}", INFER_FAULT_INVALID,
	  INFER_EUNSUP, "previous_response_id", "not kept" },
	{ "responses", "{\"input\":\"x\",\"background\":true}", INFER_FAULT_INVALID, INFER_EUNSUP,
	  "background", "not supported" },
	{ "responses", "{\"input\":\"x\",\"max_output_tokens\":0}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "max_output_tokens", "from 1" },
	{ "embed", "{\"input\":[\"x\",[5,6]],\"dimensions\":3,\"encoding_format\":\"base64\"}", 0,
	  0, NULL, "" },
	{ "embed", "{\"input\":\"x\",\"frob\":1,\"user\":7}", 0, 0, NULL, "" },
	{ "embed", "{}", INFER_FAULT_INVALID, INFER_EINVAL, "input", "input is missing" },
	{ "embed", "{\"input\":null}", INFER_FAULT_INVALID, INFER_EINVAL, "input",
	  "input is missing" },
	{ "embed", "{\"input\":[\"x\",{}]}", INFER_FAULT_INVALID, INFER_EINVAL, "input",
	  "prompt_string must be a string" },
	{ "embed", "{\"input\":[\"x\",[5.5]]}", INFER_FAULT_INVALID, INFER_EINVAL, "input",
	  "must be an integer" },
	{ "embed", "{\"input\":[5,\"x\",{}]}", INFER_FAULT_INVALID, INFER_EINVAL, "input",
	  "neither a text nor" },
	{ "embed", "{\"input\":[5,\"x\"]}", 0, 0, NULL, "" },
	{ "embed", "{\"input\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}", 0, 0, NULL,
	  "" },
	{ "embed", "{\"input\":{\"content\":[{\"type\":\"image_url\"}]}}", INFER_FAULT_INVALID,
	  INFER_EUNSUP, "input", "must be" },
	{ "embed", "{\"input\":{\"content\":\"x\"}}", INFER_FAULT_INVALID, INFER_EINVAL, "input",
	  "must be a list of parts" },
	{ "embed", "{\"input\":\"x\",\"truncate\":true}", INFER_FAULT_INVALID, INFER_EUNSUP,
	  "truncate", "needs a server" },
	{ "embed", "{\"input\":\"x\",\"truncate\":false}", 0, 0, NULL, "" },
	{ "embed", "{\"input\":\"x\",\"truncate\":1}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "truncate", "must be true or false" },
	{ "embed", "{\"input\":\"x\",\"dimensions\":9999}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "dimensions", "from 1" },
	{ "rerank", "{\"query\":\"x\",\"documents\":[\"y\"]}", INFER_FAULT_OFF, INFER_EUNSUP,
	  "model", "no head that ranks" },
	{ "score", "{\"text_1\":\"x\",\"text_2\":\"y\"}", INFER_FAULT_OFF, INFER_EUNSUP, "model",
	  "no head that ranks" },
	{ "text", "{\"prompt\":\"x\",\"suffix\":\"y\"}", INFER_FAULT_INVALID, INFER_EUNSUP,
	  "suffix", "no fill-in-the-middle tokens" },
	{ "text", "{\"prompt\":\"x\",\"suffix\":\"\"}", 0, 0, NULL, "" },
	{ "native", "{\"prompt\":\"x\",\"n_predict\":3,\"seed\":-1,\"temperature\":-1}", 0, 0, NULL,
	  "" },
	{ "native", "{\"prompt\":\"x\",\"n_probs\":\"a\"}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "n_probs", "must be an integer" },
	{ "native", "{\"prompt\":\"x\",\"seed\":18446744073709551615}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "seed", "at most" },
	{ "native", "{\"prompt\":\"x\",\"post_sampling_probs\":5}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "post_sampling_probs", "true or false" },
	{ "native", "{\"prompt\":{\"prompt_string\":\"x\",\"multimodal_data\":[]}}", 0, 0, NULL,
	  "" },
	{ "native", "{\"prompt\":{\"prompt_string\":5}}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "prompt", "prompt_string must be a string" },
	{ "native", "{\"prompt\":[5,{\"prompt_string\":\"x\",\"multimodal_data\":[\"eA==\"]}]}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "prompt", "neither a text nor" },
	{ "native", "{\"prompt\":[\"y\",{\"prompt_string\":\"x\",\"multimodal_data\":[\"eA==\"]}]}",
	  INFER_FAULT_INVALID, INFER_EUNSUP, "prompt", "multimodal_data is not supported" },
	{ "text", "{\"prompt\":\"x\",\"logit_bias\":{\"the\":1}}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "logit_bias", "not a token id" },
	{ "native", "{\"prompt\":\"x\",\"logit_bias\":{\"the\":1,\"5\":false}}", 0, 0, NULL, "" },
	{ "native", "{\"prompt\":\"x\",\"lora\":[{\"id\":0,\"scale\":1}]}", INFER_FAULT_INVALID,
	  INFER_EINVAL, "lora", "no adapter" },
	{ "native", "{\"prompt\":\"x\",\"response_fields\":[5]}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "response_fields", "must be a string" },
	{ "infill", "{\"input_prefix\":\"x\"}", INFER_FAULT_INVALID, INFER_EINVAL, "input_suffix",
	  "input_suffix is missing" },
	{ "infill", "{\"input_prefix\":5}", INFER_FAULT_INVALID, INFER_EINVAL, "input_prefix",
	  "must be a string" },
	{ "infill", "{\"input_prefix\":\"\",\"input_suffix\":\"\",\"input_extra\":[{}]}",
	  INFER_FAULT_INVALID, INFER_EINVAL, "input_extra", "an object with a text" },
	{ "infill", "{\"input_prefix\":\"x\",\"input_suffix\":\"y\"}", INFER_FAULT_OFF,
	  INFER_EUNSUP, NULL, "no fill-in-the-middle tokens" },
	{ "own", "{\"prompt\":[]}", INFER_FAULT_INVALID, INFER_EINVAL, "prompt", "empty" },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\"soon\"}", INFER_FAULT_INVALID, INFER_EINVAL,
	  "keep_alive", "a duration" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"images\":[\"x\"]}", INFER_FAULT_INVALID,
	  INFER_EUNSUP, "images", "not supported" },
	{ "ollama_embed", "{}", INFER_FAULT_INVALID, INFER_EINVAL, "input", "input is missing" },
	{ "ollama_embeddings", "{\"prompt\":[\"x\"]}", INFER_FAULT_INVALID, INFER_EINVAL, "prompt",
	  "must be a string" },
};

static const struct listed {
	const char *row;
	const struct infer_api *api;
} forms[] = {
#define API(x) { #x, &api_##x },
#include "api/api_list.h"
#undef API
};
enum { FORMS = sizeof forms / sizeof *forms };

static size_t body_now;
static int case_body(void)
{
	const char *body = bodies[body_now].body, *param = bodies[body_now].param;
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_job_read(&j, reader, infer_api_named(bodies[body_now].form), 0, "id", body,
	                      strlen(body), &err));
	if (j->fault.kind != bodies[body_now].kind ||
	    j->fault.error.code != bodies[body_now].code ||
	    !strstr(j->fault.error.message, bodies[body_now].says) ||
	    strstr(j->fault.error.message, "batch") ||
	    strcmp(j->fault.param ? j->fault.param : "", param ? param : ""))
		fail_msg("%s: %d, %d, %s, %s", body, j->fault.kind, j->fault.error.code,
		         j->fault.param ? j->fault.param : "-", j->fault.error.message);
	assert_string_equal(j->id, "id");
	assert_true(j->stream == (!j->fault.kind && strstr(body, "true") != NULL) || j->fault.kind);
	assert_int_equal(j->include_usage, !j->fault.kind && strstr(body, "include_usage"));
out:
	infer_job_free(j);
	return rc;
}

static void test_bodies(void **state)
{
	struct nth n = { case_body };
	void *at = &n;

	(void)state;
	for (body_now = 0; body_now < sizeof bodies / sizeof *bodies; body_now++) {
		assert_int_equal(case_body(),
		                 INFER_OK); /* compiled constraints stay in the cache */
		nth_run(&at);
	}
}

/* ---- streams ---- */

enum { MOST_CHUNKS = 400 };

static void same_sum(const struct sum *a, const struct sum *b, const char *what)
{
	const struct buf *x[] = { &a->content, &a->reasoning, &a->ids,    &a->names,
		                  &a->args,    &a->logprobs,  &a->offsets };
	const struct buf *y[] = { &b->content, &b->reasoning, &b->ids,    &b->names,
		                  &b->args,    &b->logprobs,  &b->offsets };

	for (size_t i = 0; i < sizeof x / sizeof *x; i++)
		if (x[i]->len != y[i]->len || strcmp(x[i]->at, y[i]->at))
			fail_msg("%s, part %zu: %s instead of %s", what, i, x[i]->at, y[i]->at);
	if (strcmp(a->finish, b->finish) || a->ended != 1)
		fail_msg("%s: %d chunks have an end, %s instead of %s", what, a->ended, a->finish,
		         b->finish);
}

static const char *const texts[] = {
	"just words, \xc3\xa9\xf0\x9f\xa6\x8a and more",
	"<think>why\nnot</think>\n\nso it is",
	"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x \\\"y\\\"\"}}</tool_call>",
	"<think>t</think>a <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1},\"id\":\"late\"}"
	"</tool_call><tool_call>{\"id\":\"early\",\"name\":\"f\",\"arguments\":{}}</tool_call>",
	"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"never ended",
	"",
};

/* One text in pieces of n bytes, a token for each. */
static int stream(const struct infer_api *api, int raw, const char *text, size_t piece,
                  struct infer_event *events, struct sum *parts, struct sum *whole)
{
	infer_job j = { .id = "q", .n = 1, .logprobs = api->put_events ? -1 : 0, .api = api };
	const struct infer_reply_options o = { .tools = tools };
	struct infer_choice c = {
		.finish = INFER_FINISH_STOP, .tokens = events, .stop = -1, .text = { "", 0 }
	};
	struct infer_answer a = { .job = &j,
		                  .choices = &c,
		                  .tokenizer = infer_model_tokenizer(model),
		                  .model = { "m", 1 },
		                  .created = 7,
		                  .fingerprint = "b1" };
	struct delta_given g = { 0 };
	struct infer_delta d = { 0 };
	struct infer_stream st = { 0 };
	struct infer_reply_parts p;
	infer_reply *r = NULL;
	infer_writer *w = NULL;
	infer_error err;
	size_t n = strlen(text);
	int rc;

	nth_ok(infer_writer_new(&w, &err));
	if (!raw)
		nth_ok(infer_reply_new(&r, chat, &o, &err));
	c.reply = r;
	for (size_t at = 0, k, ended = 0; !ended; at += k) {
		k = n - at < piece ? n - at : piece;
		/* an engine gives no part of a character */
		while (k && (text[at + k] & 0xc0) == 0x80)
			k++;
		ended = !k;
		if (k && r)
			nth_ok(infer_reply_put(r, text + at, k, &err));
		if (ended && r)
			nth_ok(infer_reply_end(r, &err));
		c.n_tokens += k > 0;
		c.text = (struct infer_str){ text, at + k };
		if (r) {
			infer_reply_get(r, &p);
			c.text = p.content;
		}
		while (delta_next(&g, &j, &c, (int)ended, a.tokenizer, &d)) {
			nth_ok(api->put_events ? infer_api_put_events(w, &a, &d, &st, &err)
			                       : infer_api_put_delta(w, &a, &d, &err));
			(api->flags & API_LINES ? take_lines
			 : api->put_events      ? take_events
			                        : take_json)(parts, w);
		}
	}
	nth_ok(infer_api_put(w, &a, &err));
	(api->flags & API_LINES ? take_lines : api->put_events ? take_whole : take_json)(whole, w);
out:
	infer_reply_free(r);
	infer_writer_free(w);
	return rc;
}

static void try_stream(const struct listed *l, int raw, const char *text, size_t piece,
                       struct infer_event *events)
{
	char what[64];
	struct sum parts, whole;

	sum_init(&parts);
	sum_init(&whole);
	assert_int_equal(stream(l->api, raw, text, piece, events, &parts, &whole), INFER_OK);
	snprintf(what, sizeof what, "the format %s, %.40s", l->row, text);
	same_sum(&parts, &whole, what);
	assert_int_equal(parts.begun, (l->api->flags & API_BEGINS) != 0);
	/* a line has a whole call */
	assert_true(piece > 7 || !*text || parts.chunks > 2 - !!(l->api->flags & API_LINES));
	sum_fini(&parts);
	sum_fini(&whole);
}

static void test_streams(void **state)
{
	static struct infer_event events[MOST_CHUNKS];

	(void)state;
	for (int i = 0; i < MOST_CHUNKS; i++)
		events[i] = (struct infer_event){ .token = 5 + i % 40, .logprob = (float)-i };
	for (size_t f = 0; f < FORMS; f++) {
		int raw = forms[f].api == &api_own || !(forms[f].api->flags & API_TALKS);

		if (forms[f].api->flags & (API_COUNTS | API_WHOLE))
			continue;

		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			for (size_t piece = forms[f].api == &api_messages && i == 4 ? 40 : 1;
			     piece < 40; piece += piece < 8 ? 1 : 13)
				try_stream(&forms[f], raw, texts[i], piece, events);
	}
}

static int case_stream(void)
{
	static struct infer_event events[MOST_CHUNKS];
	struct sum parts, whole;
	int rc;

	sum_init(&parts);
	sum_init(&whole);
	rc = stream(&api_chat, 0, texts[3], 9, events, &parts, &whole);
	sum_fini(&parts);
	sum_fini(&whole);
	return rc;
}

/* ---- chunks as bytes ---- */

#define HEAD \
	"{\"id\":\"chatcmpl-ID\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":" \
	"\"m\",\"system_fingerprint\":\"b1\",\"choices\":["
#define TEXT_HEAD \
	"{\"id\":\"cmpl-ID\",\"object\":\"text_completion\",\"created\":7,\"model\":" \
	"\"m\",\"choices\":["
#define TAIL ",\"logprobs\":null,\"finish_reason\":null}]}"
#define USAGE \
	"],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":6,\"total_tokens\":9," \
	"\"prompt_tokens_details\":{\"cached_tokens\":2},\"completion_tokens_details\":{" \
	"\"reasoning_tokens\":1,\"accepted_prediction_tokens\":0," \
	"\"rejected_prediction_tokens\":0}}}"

static const struct {
	const char *form;
	struct infer_delta d;
	const char *want;
	int open; /* of an item before it */
} chunks[] = {
	{ "chat",
	  { .kind = INFER_DELTA_BEGIN, .index = 1 },
	  HEAD "{\"index\":1,\"delta\":{\"role\":\"assistant\",\"content\":null}" TAIL },
	{ "chat",
	  { .kind = INFER_DELTA_REASONING, .text = { "why", 3 } },
	  HEAD "{\"index\":0,\"delta\":{\"reasoning_content\":\"why\"}" TAIL },
	{ "chat",
	  { .kind = INFER_DELTA_TEXT, .text = { " tok", 4 } },
	  HEAD "{\"index\":0,\"delta\":{\"content\":\" tok\"}" TAIL },
	{ "chat",
	  { .kind = INFER_DELTA_CALL },
	  HEAD "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"type\":"
	       "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}" TAIL },
	{ "chat",
	  { .kind = INFER_DELTA_ARGUMENTS, .text = { "{\"a\"", 4 } },
	  HEAD "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
	       "\"arguments\":\"{\\\"a\\\"\"}}]}" TAIL },
	{ "chat",
	  { .kind = INFER_DELTA_END },
	  HEAD "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"tool_calls\"}]}" },
	{ "chat",
	  { .kind = INFER_DELTA_END, .index = 1 },
	  HEAD "{\"index\":1,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"length\"}]}" },
	{ "chat", { .kind = INFER_DELTA_USAGE }, HEAD USAGE },
	{ "text",
	  { .kind = INFER_DELTA_TEXT, .text = { " tok", 4 } },
	  TEXT_HEAD "{\"index\":0,\"text\":\" tok\"" TAIL },
	{ "text",
	  { .kind = INFER_DELTA_END, .index = 1 },
	  TEXT_HEAD
	  "{\"index\":1,\"text\":\"\",\"logprobs\":null,\"finish_reason\":\"length\"}]}" },
	{ "text", { .kind = INFER_DELTA_USAGE }, TEXT_HEAD USAGE },
	{ "messages",
	  { .kind = INFER_DELTA_TEXT, .text = { "Hi", 2 } },
	  "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,"
	  "\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
	  INFER_DELTA_TEXT },
	{ "messages",
	  { .kind = INFER_DELTA_CALL },
	  "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
	  "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,"
	  "\"content_block\":{\"type\":\"tool_use\",\"id\":\"x\",\"name\":\"f\",\"input\":{}}}\n\n",
	  INFER_DELTA_TEXT },
	{ "messages",
	  { .kind = INFER_DELTA_END },
	  "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
	  "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
	  "\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":4}}\n\n"
	  "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	  INFER_DELTA_CALL },
	{ "responses",
	  { .kind = INFER_DELTA_ARGUMENTS, .text = { "{}", 2 } },
	  "event: response.function_call_arguments.delta\ndata: {\"type\":"
	  "\"response.function_call_arguments.delta\",\"sequence_number\":0,\"item_id\":\"fc_ID\","
	  "\"output_index\":1,\"delta\":\"{}\"}\n\n",
	  INFER_DELTA_CALL },
	{ "native",
	  { .kind = INFER_DELTA_TEXT, .text = { "Hel", 3 } },
	  "{\"index\":0,\"content\":\"Hel\",\"tokens\":[],\"stop\":false,\"id_slot\":0,"
	  "\"tokens_predicted\":4,\"tokens_evaluated\":3}" },
	{ "infill",
	  { .kind = INFER_DELTA_TEXT, .index = 1, .text = { "lo", 2 } },
	  "{\"index\":1,\"content\":\"lo\",\"tokens\":[],\"stop\":false,\"id_slot\":1,"
	  "\"tokens_predicted\":2,\"tokens_evaluated\":3}" },
	{ "own",
	  { .kind = INFER_DELTA_TEXT, .index = 1, .text = { "a\xff", 2 } },
	  "{\"id\":\"q\",\"index\":1,\"text\":\"a\xef\xbf\xbd\",\"text_b64\":\"Yf8=\"}" },
	{ "ollama_chat",
	  { .kind = INFER_DELTA_TEXT, .text = { "Hel", 3 } },
	  "{\"model\":\"m\",\"created_at\":\"1970-01-01T00:00:07Z\",\"message\":{\"role\":"
	  "\"assistant\",\"content\":\"Hel\"},\"done\":false}\n" },
	{ "ollama_generate",
	  { .kind = INFER_DELTA_REASONING, .text = { "so", 2 } },
	  "{\"model\":\"m\",\"created_at\":\"1970-01-01T00:00:07Z\",\"response\":\"\",\"thinking\":"
	  "\"so\",\"done\":false}\n" },
	{ "own",
	  { .kind = INFER_DELTA_USAGE },
	  "{\"id\":\"q\",\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":6,"
	  "\"cached_tokens\":2}}" },
};

/* The id that is made of the request's, in its place. */
static void with_id(char *to, size_t cap, const char *want, const char *got)
{
	const char *at = strstr(want, "ID"), *made = at ? got + (at - want) : NULL;

	snprintf(to, cap, at ? "%.*s%.16s%s" : "%.*s%s%s", at ? (int)(at - want) : 0, want,
	         at ? made : want, at ? at + 2 : "");
}

static int case_chunks(void)
{
	static const char call[] = "<tool_call>{\"id\":\"x\",\"name\":\"f\"}</tool_call>";
	const struct infer_reply_options o = { .tools = tools };
	infer_job j = { .id = "q", .n = 2, .logprobs = -1 };
	struct infer_choice c[2] = {
		{ .usage = { 3, 4, 2 }, .reasoning_tokens = 1, .stop = -1 },
		{ .usage = { 3, 2, 2 }, .finish = INFER_FINISH_LENGTH },
	};
	struct infer_answer a = { .job = &j,
		                  .choices = c,
		                  .tokenizer = infer_model_tokenizer(model),
		                  .model = { "m", 1 },
		                  .created = 7,
		                  .fingerprint = "b1" };
	infer_reply *r = NULL;
	infer_writer *w = NULL;
	infer_error err;
	char want[1024];
	int rc;

	nth_ok(infer_writer_new(&w, &err));
	nth_ok(infer_reply_new(&r, chat, &o, &err));
	nth_ok(infer_reply_put(r, call, sizeof call - 1, &err));
	nth_ok(infer_reply_end(r, &err));
	c[0].reply = r;
	for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
		j.api = infer_api_named(chunks[i].form);
		j.n = j.api->put_events ? 1 : 2;
		if (j.api->put_events) {
			struct infer_stream st = { .items = 2, .open = chunks[i].open };

			nth_ok(infer_api_put_events(w, &a, &chunks[i].d, &st, &err));
		} else {
			nth_ok(infer_api_put_delta(w, &a, &chunks[i].d, &err));
		}
		with_id(want, sizeof want, chunks[i].want, infer_writer_text(w).at);
		assert_string_equal(infer_writer_text(w).at, want);
		infer_writer_clear(w);
	}
out:
	infer_reply_free(r);
	infer_writer_free(w);
	return rc;
}

/* Whatever comes into the list is whole, can be found, and is in both tables above. */
static void test_list(void **state)
{
	(void)state;
	for (size_t f = 0; f < FORMS; f++) {
		const struct infer_api *api = forms[f].api;
		const char *row = forms[f].row;
		int refused = 0, written = 0;

		if (!api->name || strcmp(api->name, row))
			fail_msg("the format %s has another name, or none", row);
		if (!api->read || !api->put || !api->put_error ||
		    (!(api->flags & API_WHOLE) && !api->put_delta == !api->put_events))
			fail_msg("the format %s lacks a function", row);
		if (api != &api_own && (!api->path || infer_api_at(api->path) != api))
			fail_msg("the format %s is not found by its path", row);
		for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
			refused += !strcmp(bodies[i].form, row) && bodies[i].kind;
		for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
			written += !strcmp(chunks[i].form, row);
		if (!refused)
			fail_msg("bodies[] has none that the format %s refuses", row);
		if (!written && !(api->flags & (API_COUNTS | API_WHOLE)))
			fail_msg("chunks[] has no bytes of the format %s", row);
	}
}

int main(int argc, char **argv)
{
	static const char list[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]",
			  src[] = "{# <tool_call> #}{{ messages[0].content }}{{ tools }}";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),    cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_streams), nth_case(case_stream),
		nth_case(case_chunks),
	};
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("form", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err) ||
	    infer_chat_open(&chat, src, sizeof src - 1, "chat", &err) ||
	    infer_tools_read(&tools, list, sizeof list - 1, &err) ||
	    infer_job_reader_new(
		    &reader,
		    &(struct infer_job_opts){ .model = model,
	                                      .chat = chat,
	                                      .max_tokens = -1,
	                                      .logprobs = -1,
	                                      .reads = INFER_JOB_STREAM | INFER_JOB_LENIENT },
		    &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = nth_group(tests);
	infer_job_reader_free(reader);
	infer_tools_free(tools);
	infer_chat_close(&chat);
	infer_model_close(&model);
	return failed;
}
