/* tests/unit/api/test_ollama.c - Ollama's API: requests as jobs, conversations in OpenAI's format, and
 * the lines of a stream */
#include "../engine/run.h"
#include "../json.h"

#include <infer/api.h>
#include <infer/reply.h>
#include "api/api.h"

static infer_model *model;
static infer_chat *chat;
static infer_tools *tools;
static infer_job_reader *reader;

static int read_body(infer_job **j, const char *form, const char *body, infer_error *err)
{
	return infer_job_read(j, reader, infer_api_named(form), 0, "id", body, strlen(body), err);
}

/* ---- bodies ---- */

#define USER "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]"
#define ONE(role, more) "{\"messages\":[{\"role\":\"" role "\"" more "}]}"
static const struct {
	const char *form, *body, *param, *says; /* says NULL: accepted */
} bodies[] = {
	{ "ollama_chat", "{" USER "}", NULL, NULL },
	{ "ollama_chat",
	  "{" USER
	  ",\"model\":\"m\",\"format\":\"\",\"keep_alive\":-1,\"think\":false,\"tools\":[],"
	  "\"images\":[],\"options\":{}}",
	  NULL, NULL },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\"1h30m\"}", NULL, NULL },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\"-1.5s\"}", NULL, NULL },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\"0\"}", NULL, NULL },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\"2\xc2\xb5s\"}", NULL, NULL },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\"\"}", "keep_alive", "duration" },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\"5\"}", "keep_alive", "duration" },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\".m\"}", "keep_alive", "duration" },
	{ "ollama_chat", "{" USER ",\"keep_alive\":\"5x\"}", "keep_alive", "duration" },
	{ "ollama_chat", "{" USER ",\"keep_alive\":true}", "keep_alive", "duration" },
	{ "ollama_chat", "{" USER ",\"format\":\"json\"}", NULL, NULL },
	{ "ollama_chat", "{" USER ",\"format\":{\"type\":\"integer\"}}", NULL, NULL },
	{ "ollama_chat", "{" USER ",\"format\":\"xml\"}", "format", "\"json\" or a JSON schema" },
	{ "ollama_chat", "{" USER ",\"format\":5}", "format", "\"json\" or a JSON schema" },
	{ "ollama_chat", "{" USER ",\"format\":{\"type\":\"x\"}}", "format", "type" },
	{ "ollama_chat", "{" USER ",\"think\":true}", "think", "think" },
	{ "ollama_chat", "{" USER ",\"think\":\"much\"}", "think", "must be none" },
	{ "ollama_chat", "{" USER ",\"n\":2}", "n", "one answer" },
	{ "ollama_chat", "{}", "messages", "messages is missing" },
	{ "ollama_chat", "{\"messages\":5}", "messages", "must be an array" },
	{ "ollama_chat", "{\"messages\":[5]}", "messages", "messages[0]: must be an object" },
	{ "ollama_chat", ONE("judge", ""), "messages", "the role must be" },
	{ "ollama_chat", ONE("user", ",\"content\":[]"), "messages", "must be a string" },
	{ "ollama_chat", ONE("user", ",\"images\":[\"x\"]"), "messages", "images are not" },
	{ "ollama_chat", ONE("user", ",\"images\":[]"), NULL, NULL },
	{ "ollama_chat", ONE("assistant", ",\"thinking\":1"), "messages", "thinking must be" },
	{ "ollama_chat", ONE("assistant", ",\"tool_calls\":{}"), "messages", "must be an array" },
	{ "ollama_chat", ONE("assistant", ",\"tool_calls\":[{}]"), "messages", "with a name" },
	{ "ollama_chat", ONE("tool", ",\"tool_name\":1"), "messages", "tool_name must be" },
	{ "ollama_chat", "{" USER ",\"top_logprobs\":2}", "top_logprobs", "needs logprobs" },
	{ "ollama_chat", "{" USER ",\"options\":[]}", "options", "must be an object" },
	{ "ollama_chat", "{" USER ",\"options\":{\"temprature\":1}}", "options",
	  "'temprature' is not an option" },
	{ "ollama_chat", "{" USER ",\"options\":{\"temperature\":3}}", "options", "temperature" },
	{ "ollama_chat", "{" USER ",\"options\":{\"num_ctx\":256}}", NULL, NULL },
	{ "ollama_chat", "{" USER ",\"options\":{\"num_ctx\":257}}", "options",
	  "num_ctx is 257: the context of this server has 256" },
	{ "ollama_chat", "{" USER ",\"options\":{\"penalize_newline\":false}}", "options",
	  "penalize_newline: only true" },
	{ "ollama_chat", "{" USER ",\"options\":{\"tfs_z\":0.5}}", "options", "tfs_z: only 1" },
	{ "ollama_chat", "{" USER ",\"options\":{\"vocab_only\":true}}", "options", "vocab_only" },
	{ "ollama_chat", "{" USER ",\"options\":{\"num_gpu\":\"all\"}}", "options", "num_gpu" },
	{ "ollama_chat",
	  "{" USER ",\"options\":{\"num_keep\":5,\"seed\":42,\"num_predict\":100,\"top_k\":20,"
	  "\"top_p\":0.9,\"min_p\":0.0,\"typical_p\":0.7,\"repeat_last_n\":33,\"temperature\":0.8,"
	  "\"repeat_penalty\":1.2,\"presence_penalty\":1.5,\"frequency_penalty\":1.0,\"mirostat\":"
	  "1,"
	  "\"mirostat_tau\":0.8,\"mirostat_eta\":0.6,\"penalize_newline\":true,\"stop\":[\"\\n\","
	  "\"user:\"],\"numa\":false,\"num_ctx\":128,\"num_batch\":2,\"num_gpu\":1,\"main_gpu\":0,"
	  "\"low_vram\":false,\"vocab_only\":false,\"use_mmap\":true,\"use_mlock\":false,"
	  "\"num_thread\":8,\"f16_kv\":null}}",
	  NULL, NULL },
	{ "ollama_generate", "{\"prompt\":\"x\"}", NULL, NULL },
	{ "ollama_generate", "{}", "prompt", "prompt is missing" },
	{ "ollama_generate", "{\"prompt\":[5]}", "prompt", "must be a string" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"template\":\"{{ .Prompt }}\"}", "template",
	  "not supported" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"template\":\"\",\"system\":\"\",\"suffix\":\"\"}",
	  NULL, NULL },
	{ "ollama_generate", "{\"prompt\":\"x\",\"raw\":true,\"system\":\"y\"}", "system",
	  "system needs a prompt with a chat template" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"raw\":true,\"context\":[5]}", "context",
	  "context needs" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"raw\":true,\"think\":\"low\"}", "think",
	  "think needs" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"suffix\":\"y\"}", "prompt",
	  "fill-in-the-middle" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"context\":[1e9]}", "context", "context" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"context\":\"x\"}", "context", "token ids" },
	{ "ollama_generate", "{\"prompt\":\"x\",\"width\":64}", "width", "not supported" },
	{ "ollama_embed", "{\"input\":[\"x\",\"y\"],\"options\":{\"num_ctx\":9},\"keep_alive\":0}",
	  NULL, NULL },
	{ "ollama_embed", "{\"input\":\"x\",\"truncate\":1}", "truncate", "true or false" },
	{ "ollama_embed", "{\"input\":\"x\",\"options\":{\"x\":1}}", "options", "not an option" },
	{ "ollama_embeddings", "{\"prompt\":\"x\"}", NULL, NULL },
	{ "ollama_embeddings", "{}", "prompt", "prompt is missing" },
};

static size_t body_now;
static int case_body(void)
{
	const char *form = bodies[body_now].form, *body = bodies[body_now].body,
		   *param = bodies[body_now].param, *says = bodies[body_now].says;
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(read_body(&j, form, body, &err));
	if (!j->fault.kind != !says || (says && !strstr(j->fault.error.message, says)) ||
	    (param && j->fault.param && strcmp(j->fault.param, param)))
		fail_msg("%s %s: %s, %s", form, body, j->fault.param ? j->fault.param : "-",
		         j->fault.error.message);
	if (!says && !strstr(form, "embed"))
		assert_true(j->stream);
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

static int case_options(void)
{
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(read_body(
		&j, "ollama_generate",
		"{\"prompt\":\"x\",\"stream\":false,\"raw\":true,\"options\":{\"num_predict\":"
		"7,\"temperature\":0.5,\"seed\":9,\"stop\":\"z\"}}",
		&err));
	assert_int_equal(j->fault.kind, 0);
	assert_false(j->stream);
	assert_int_equal(j->request.max_tokens, 7);
	assert_true(j->request.sample.temp == 0.5f);
	assert_int_equal(j->request.sample.seed, 9);
	assert_int_equal(j->request.n_stop, 1);
	assert_int_equal(j->token_ids, 0);
	infer_job_free(j);
	j = NULL;
	nth_ok(read_body(&j, "ollama_generate",
	                 "{\"prompt\":\"x\",\"options\":{\"num_predict\":-2}}", &err));
	assert_int_equal(j->request.max_tokens, -1);
	assert_int_equal(j->token_ids, 1);
out:
	infer_job_free(j);
	return rc;
}

/* ---- conversations ---- */

/* the template writes the messages as JSON */
static const struct {
	const char *form, *body, *want;
} talks[] = {
	{ "ollama_generate", "{\"prompt\":\"x\",\"system\":\"be\"}",
	  "[{\"role\": \"system\", \"content\": \"be\"}, {\"role\": \"user\", \"content\": "
	  "\"x\"}]" },
	{ "ollama_chat",
	  "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\","
	  "\"thinking\":\"t\","
	  "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}},{\"function\":{"
	  "\"name\":"
	  "\"g\",\"arguments\":{}}}]},{\"role\":\"tool\",\"tool_name\":\"g\",\"content\":\"2\"},{"
	  "\"role\":"
	  "\"tool\",\"content\":\"1\"}]}",
	  "[{\"role\": \"user\", \"content\": \"q\"}, {\"role\": \"assistant\", \"content\": \"\", "
	  "\"reasoning_content\": \"t\", \"tool_calls\": [{\"id\": \"call00000\", \"type\": "
	  "\"function\", \"function\": {\"name\": \"f\", \"arguments\": {\"a\": 1}}}, {\"id\": "
	  "\"call00001\", \"type\": \"function\", \"function\": {\"name\": \"g\", \"arguments\": "
	  "{}}}], \"thinking\": \"t\"}, {\"role\": \"tool\", \"content\": \"2\", \"name\": \"g\", "
	  "\"tool_call_id\": "
	  "\"call00001\"}, {\"role\": \"tool\", \"content\": \"1\", \"tool_call_id\": "
	  "\"call00000\"}]" },
};

static size_t talk_now;
static int case_talk(void)
{
	infer_job *j = NULL;
	char *text = NULL;
	infer_error err;
	size_t n;
	int rc;

	nth_ok(read_body(&j, talks[talk_now].form, talks[talk_now].body, &err));
	assert_string_equal(j->fault.error.message, "");
	nth_ok(infer_job_render(&text, &n, j, &err));
	assert_string_equal(text, talks[talk_now].want);
out:
	infer_chat_free(text);
	infer_job_free(j);
	return rc;
}

static void test_talks(void **state)
{
	struct nth n = { case_talk };
	void *at = &n;

	(void)state;
	for (talk_now = 0; talk_now < sizeof talks / sizeof *talks; talk_now++)
		nth_run(&at);
}

/* The ids of `context` precede the prompt. */
static int case_context(void)
{
	infer_job *alone = NULL, *after = NULL;
	infer_error err;
	int rc;

	nth_ok(read_body(&alone, "ollama_generate", "{\"prompt\":\"x\"}", &err));
	nth_ok(read_body(&after, "ollama_generate", "{\"prompt\":\"x\",\"context\":[7,8,9]}",
	                 &err));
	const struct infer_request *a = &alone->request, *b = &after->request;
	const size_t skip = a->n_prompt + 3 - b->n_prompt;

	assert_int_equal(after->fault.kind, 0);
	assert_true(skip <= 1);
	assert_int_equal(b->prompt[0], 7);
	assert_int_equal(b->prompt[2], 9);
	assert_memory_equal(b->prompt + 3, a->prompt + skip,
	                    (a->n_prompt - skip) * sizeof *a->prompt);
out:
	infer_job_free(alone);
	infer_job_free(after);
	return rc;
}

/* ---- streams ---- */

/* Calls are written whole, each once, when they are complete. */
static int case_calls(void)
{
	static const char text[] =
		"<tool_call>{\"id\":\"x\",\"name\":\"f\",\"arguments\":{\"a\":1}}"
		"</tool_call><tool_call>{\"id\":\"y\",\"name\":\"f\",\"arguments\":[";
	static const char want[] =
		"{\"model\":\"m\",\"created_at\":\"1970-01-01T00:00:07Z\",\"message\":{\"role\":"
		"\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"x\",\"function\":{"
		"\"index\":0,"
		"\"name\":\"f\",\"arguments\":{\"a\":1}}}]},\"done\":false}\n"
		"{\"model\":\"m\",\"created_at\":\"1970-01-01T00:00:07Z\",\"message\":{\"role\":"
		"\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"y\",\"function\":{"
		"\"index\":1,"
		"\"name\":\"f\",\"arguments\":{}}}]},\"done\":false}\n"
		"{\"model\":\"m\",\"created_at\":\"1970-01-01T00:00:07Z\",\"message\":{\"role\":"
		"\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\","
		"\"total_duration\":9,\"load_duration\":0,\"prompt_eval_count\":3,"
		"\"prompt_eval_duration\":4,\"eval_count\":2,\"eval_duration\":5}\n"
		"{\"error\":\"broken\"}\n";
	static const struct infer_delta deltas[] = {
		{ .kind = INFER_DELTA_CALL, .call = 0 },
		{ .kind = INFER_DELTA_ARGUMENTS, .call = 0 },
		{ .kind = INFER_DELTA_CALL, .call = 1 },
		{ .kind = INFER_DELTA_END },
	};
	const struct infer_fault f = { { INFER_EIO, "broken" }, NULL, INFER_FAULT_SERVER, 0, 0 };
	const struct infer_reply_options o = { .tools = tools };
	infer_job j = { .id = "q", .n = 1, .logprobs = -1, .api = infer_api_named("ollama_chat") };
	struct infer_choice c = { .usage = { .prompt_tokens = 3,
		                             .completion_tokens = 2,
		                             .prefill_ns = 4,
		                             .decode_ns = 5 } };
	const struct infer_answer a = { .job = &j,
		                        .choices = &c,
		                        .tokenizer = infer_model_tokenizer(model),
		                        .model = { "m", 1 },
		                        .created = 7 };
	struct infer_stream s = { 0 };
	infer_reply *r = NULL;
	infer_writer *w = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_writer_new(&w, &err));
	nth_ok(infer_reply_new(&r, chat, &o, &err));
	nth_ok(infer_reply_put(r, text, sizeof text - 1, &err));
	nth_ok(infer_reply_end(r, &err));
	c.reply = r;
	for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++)
		nth_ok(infer_api_put_events(w, &a, &deltas[i], &s, &err));
	nth_ok(infer_api_put_events(w, &a, NULL, &s, &err));
	nth_ok(infer_api_put_fault_events(w, j.api, &f, "id", &s, &err));
	assert_string_equal(infer_writer_text(w).at, want);
out:
	infer_reply_free(r);
	infer_writer_free(w);
	return rc;
}

static void test_types(void **state)
{
	(void)state;
	assert_string_equal(infer_api_stream_type(infer_api_named("ollama_chat")),
	                    "application/x-ndjson");
	assert_string_equal(infer_api_stream_type(infer_api_named("chat")), "text/event-stream");
	assert_ptr_equal(infer_api_at("/api/generate"), infer_api_named("ollama_generate"));
}

int main(int argc, char **argv)
{
	static const char list[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]",
			  src[] = "{# <tool_call> #}{{ messages | tojson }}";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies), nth_case(case_options), cmocka_unit_test(test_talks),
		nth_case(case_context),        nth_case(case_calls),   cmocka_unit_test(test_types),
	};
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("ollama", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err) ||
	    infer_chat_open(&chat, src, sizeof src - 1, "chat", &err) ||
	    infer_tools_read(&tools, list, sizeof list - 1, &err) ||
	    infer_job_reader_new(
		    &reader,
		    &(struct infer_job_opts){ .model = model,
	                                      .chat = chat,
	                                      .ctx = 256,
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
