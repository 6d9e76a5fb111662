/* tests/unit/record/test_jsonl.c - records, as bytes and as JSON. */
#include "../engine/run.h"
#include "../json.h"
#include <math.h>

#include <infer/record.h>
#include <infer/reply.h>
#include "base/err.h"
#include "base/jwrite.h"
#include "record/record.h"

static infer_model *model;
static infer_engine *engine;

/* What was last parsed of it. */
static struct arena record;

static char line[1 << 16];

/* The one line that a writer holds, which is taken out of it. */
static const char *message(infer_records *w)
{
	struct infer_str text = infer_records_text(w);

	if (!text.len || text.len >= sizeof line)
		fail_msg("no record came");
	memcpy(line, text.at, text.len);
	line[text.len] = 0;
	infer_records_clear(w);
	assert_int_equal(line[text.len - 1], '\n');
	assert_ptr_equal(strchr(line, '\n'), line + text.len - 1);
	return line;
}

/* Every kind begins alike; no two have one name. */
static int case_kinds(void)
{
	const struct infer_record_kind *k;
	struct jwrite w;
	struct buf text;
	char want[256];
	int bad = 0;

	buf_init(&text, MEM_RECORD);
	for (int i = 0; (k = infer_record_kind(i)); i++) {
		for (int j = 0; j < i; j++)
			assert_string_not_equal(k->name, infer_record_kind(j)->name);
		assert_true(*k->name && *k->about);
		infer_record_open(&w, &text, (enum infer_kind)i, INFER_RECORD_FIRST);
		infer_record_close(&w);
		infer_record_open(&w, &text, (enum infer_kind)i, 0);
		jw_int(&w, "i", i);
		infer_record_close(&w);
		snprintf(want, sizeof want,
		         "{\"v\":1,\"kind\":\"%s\"}\n{\"kind\":\"%s\",\"i\":%d}\n", k->name,
		         k->name, i);
		bad |= text.bad;
		if (!text.bad)
			assert_string_equal(text.at, want);
		buf_clear(&text);
	}
	buf_fini(&text);
	assert_null(infer_record_kind(-1));
	assert_null(infer_record_kind(INFER_KIND_COUNT));
	assert_string_equal(infer_record_kind(INFER_KIND_HW)->name, "hw");
	return bad ? INFER_ENOMEM : INFER_OK;
}

static int case_token(void)
{
	const struct infer_top top[2] = { { 7, -0.25f }, { 9, -3.0f } };
	struct infer_event ev = { .index = 0,
		                  .token = 7,
		                  .logprob = -0.25f,
		                  .top = top,
		                  .n_top = 2,
		                  .text = " \"\xc3\xa9\n",
		                  .text_bytes = 5 };
	infer_records *w = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_records_new(&w, &err));
	nth_ok(infer_write_token(w, &ev, &err));
	assert_string_equal(message(w),
	                    "{\"v\":1,\"kind\":\"token\",\"i\":0,\"id\":7,\"text\":\" "
	                    "\\\"\xc3\xa9\\n\",\"logprob\":-0.25,"
	                    "\"top\":[{\"id\":7,\"logprob\":-0.25},{\"id\":9,\"logprob\":-3}]}\n");
	ev = (struct infer_event){
		.index = 1, .token = 8, .logprob = -0.1f, .text = "a\xff\xe2\x82", .text_bytes = 4
	};
	nth_ok(infer_write_token(w, &ev, &err));
	assert_string_equal(message(w), "{\"kind\":\"token\",\"i\":1,\"id\":8,\"text\":"
	                                "\"a\xef\xbf\xbd\xef\xbf\xbd\",\"text_b64\":\"Yf/igg==\","
	                                "\"logprob\":-0.100000001,\"top\":[]}\n");
	ev = (struct infer_event){ .index = 2, .token = 9, .logprob = -INFINITY };
	nth_ok(infer_write_token(w, &ev, &err));
	assert_string_equal(message(w), "{\"kind\":\"token\",\"i\":2,\"id\":9,\"text\":\"\","
	                                "\"logprob\":null,\"top\":[]}\n");
out:
	infer_records_free(w);
	arena_fini(&record);
	return rc;
}

static int cut(infer_records **w, const char *list, infer_error *err)
{
	infer_records_free(*w);
	TRY(infer_records_new(w, err));
	return infer_records_select(*w, list, err);
}

/* Chosen fields alone, in the order of the record, in each line; the quotes and brackets of values
 * are none of the record's. */
static int case_fields(void)
{
	const infer_error e = { INFER_EINVAL, "a \"b\\\", {[ c" };
	const struct infer_top top[2] = { { 7, -0.25f }, { 9, -3.0f } };
	struct infer_event ev = { .token = 7, .logprob = -1, .top = top, .n_top = 2 };
	infer_records *w = NULL;
	infer_error err;
	int rc;

	nth_ok(cut(&w, "param,message", &err));
	nth_ok(infer_write_error(w, "a1", &e, "p", &err));
	assert_string_equal(message(w), "{\"v\":1,\"kind\":\"error\",\"message\":\"a "
	                                "\\\"b\\\\\\\", {[ c\",\"param\":\"p\"}\n");
	nth_ok(infer_write_error(w, "a1", &e, NULL, &err));
	nth_ok(infer_write_token(w, &ev, &err));
	assert_string_equal(infer_records_text(w).at,
	                    "{\"kind\":\"error\",\"message\":\"a \\\"b\\\\\\\", {[ c\","
	                    "\"param\":null}\n{\"kind\":\"token\"}\n");
	nth_ok(cut(&w, "kind", &err));
	nth_ok(infer_write_token(w, &ev, &err));
	assert_string_equal(message(w), "{\"v\":1,\"kind\":\"token\"}\n");
	nth_ok(cut(&w, "v,top,id", &err));
	nth_ok(infer_write_token(w, &ev, &err));
	assert_string_equal(message(w),
	                    "{\"v\":1,\"kind\":\"token\",\"id\":7,\"top\":[{\"id\":7,\"logprob\":-"
	                    "0.25},{\"id\":9,\"logprob\":-3}]}\n");
	nth_fails(cut(&w, "id,nosuch", &err), INFER_EINVAL);
	assert_string_equal(err.message, "'nosuch' is not a field of records");
	nth_fails(cut(&w, "id,", &err), INFER_EINVAL);
	nth_fails(cut(&w, "usage.prompt_tokens", &err), INFER_EINVAL);
out:
	infer_records_free(w);
	arena_fini(&record);
	return rc;
}

static int case_error(void)
{
	const infer_error e = { INFER_EINVAL, "temp is -1: from 0 to 1e+06" };
	infer_records *w = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_records_new(&w, &err));
	nth_ok(infer_write_error(w, "a1", &e, "temperature", &err));
	assert_string_equal(
		message(w),
		"{\"v\":1,\"kind\":\"error\",\"id\":\"a1\",\"code\":\"INFER_EINVAL\","
		"\"message\":\"temp is -1: from 0 to 1e+06\",\"param\":\"temperature\"}\n");
	nth_ok(infer_write_error(w, NULL, &e, NULL, &err));
	assert_non_null(strstr(message(w), "\"id\":null"));
	assert_non_null(strstr(line, "\"param\":null"));
out:
	infer_records_free(w);
	arena_fini(&record);
	return rc;
}

static const struct json *parse(const char *text)
{
	arena_reset(&record);
	return json_need(&record, text);
}

/* The keys of an object, in their order, blank between them.  Those of a record can be chosen. */
static void check_keys(const struct json *o, const char *want)
{
	static infer_records probe;
	char keys[1024] = "", name[64];
	infer_error err;

	json_each(v, o) {
		snprintf(name, sizeof name, "%.*s", (int)v->key_n, v->key);
		if (json_get(o, "kind") && infer_records_select(&probe, name, &err))
			fail_msg("%s: the list of fields lacks %s", err.message, name);
		strcat(keys, keys[0] ? " " : "");
		strncat(keys, v->key, v->key_n);
	}
	assert_string_equal(keys, want);
}

static void check_run(const struct json *run)
{
	const struct json *m = json_get(run, "model"), *s = json_get(run, "sampler"),
			  *k = json_get(run, "kernels");
	char id[65];
	struct stat st;

	check_keys(run,
	           "version model kernels placement kv_type act_type ctx sampler seed seed_random "
	           "flags");
	assert_json_string(json_get(run, "version"), INFER_VERSION);
	check_keys(m, "name path file_bytes id");
	assert_json_string(json_get(m, "name"), "random");
	assert_json_string(json_get(m, "path"), infer_file_path(infer_model_file(model)));
	assert_int_equal(stat(infer_file_path(infer_model_file(model)), &st), 0);
	assert_int_equal(json_int(json_get(m, "file_bytes")), st.st_size);
	infer_file_id(infer_model_file(model), id);
	assert_json_string(json_get(m, "id"), id);
	assert_int_equal(json_count(k), 1);
	assert_json_string(json_at(k, 0), "ref");
	assert_json_string(json_get(run, "placement"), "cpu:0-1");
	assert_json_string(json_get(run, "kv_type"), "f32,f16");
	assert_json_string(json_get(run, "act_type"), "f32");
	assert_int_equal(json_int(json_get(run, "ctx")), 128);
	assert_true(json_double(json_get(s, "temperature")) == 0.8);
	assert_int_equal(json_int(json_get(s, "top_k")), 40);
	assert_int_equal(json_int(json_get(s, "repeat_last_n")), 64);
	assert_int_equal(json_count(json_get(s, "samplers")), INFER_STAGE_COUNT - 1);
	assert_json_string(json_at(json_get(s, "samplers"), 0), "penalties");
	assert_int_equal(json_int(json_get(run, "seed")), 1234567890123456789);
	assert_true(json_is(json_get(run, "seed_random"), JSON_TRUE));
	assert_int_equal(json_count(json_get(run, "flags")), 2);
	assert_json_string(json_at(json_get(run, "flags"), 1), "--step-ms=7");
}

static const char *const flags[] = { "--no-prefix-cache", "--step-ms=7" };
static const struct infer_sample_opts sample = { .temp = 0.8f,
	                                         .top_k = 40,
	                                         .seed = 1234567890123456789 };

static int case_completion(void)
{
	const struct infer_run_info run = { model, engine, &sample, flags, 2, 1 };
	const struct infer_top top = { 5, -1 };
	const struct infer_event tokens[2] = {
		{ .token = 5, .logprob = -1, .top = &top, .n_top = 1 },
		{ .token = 6, .logprob = -2.5f }
	};
	infer_job j = { .id = "x", .n = 1, .logprobs = -1 };
	struct infer_choice c = { .text = { "hi", 2 },
		                  .finish = INFER_FINISH_LENGTH,
		                  .usage = { .prompt_tokens = 10,
		                             .completion_tokens = 3,
		                             .cached_tokens = 6,
		                             .queue_ns = 1000000,
		                             .prefill_ns = 2000000,
		                             .first_token_ns = 3000000,
		                             .decode_ns = 4000000 },
		                  .tokens = tokens,
		                  .n_tokens = 2 };
	const struct infer_answer a = {
		.job = &j, .choices = &c, .created = 1700000000, .load_ms = 1.5
	};
	infer_records *w = NULL;
	const struct json *o, *t;
	infer_error err;
	int rc;

	nth_ok(infer_records_new(&w, &err));
	nth_ok(infer_write_answer(w, &a, &run, &err));
	o = parse(message(w));
	check_keys(o, "v kind id created text finish_reason usage timings run");
	assert_int_equal(json_int(json_get(o, "created")), 1700000000);
	assert_json_string(json_get(o, "finish_reason"), "length");
	t = json_get(o, "usage");
	check_keys(t, "prompt_tokens completion_tokens cached_tokens");
	assert_int_equal(json_int(json_get(t, "cached_tokens")), 6);
	t = json_get(o, "timings");
	check_keys(t, "load_ms queue_ms prefill_ms ttft_ms decode_ms prefill_tok_s decode_tok_s");
	assert_true(json_double(json_get(t, "prefill_tok_s")) == 2000); /* 4 in 2 ms */
	assert_true(json_double(json_get(t, "decode_tok_s")) == 500);   /* 2 in 4 ms */
	check_run(json_get(o, "run"));
	j.logprobs = 0;
	c.finish = INFER_FINISH_ERROR;
	c.code = INFER_ENAN;
	c.message = "the logit of token 7";
	c.usage = (struct infer_usage){ .prompt_tokens = 1 };
	c.text = (struct infer_str){ NULL, 0 };
	nth_ok(infer_write_answer(w, &a, &run, &err));
	o = parse(message(w));
	check_keys(
		o,
		"kind id created text finish_reason usage timings error run tokens logprobs top");
	assert_json_string(json_get(json_get(o, "error"), "code"), "INFER_ENAN");
	assert_true(json_is_null(json_get(json_get(o, "timings"), "decode_tok_s")));
	assert_int_equal(json_int(json_at(json_get(o, "tokens"), 1)), 6);
	assert_true(json_double(json_at(json_get(o, "logprobs"), 1)) == -2.5);
	assert_int_equal(json_count(json_at(json_get(o, "top"), 0)), 1);
	assert_int_equal(json_count(json_at(json_get(o, "top"), 1)), 0);
out:
	infer_records_free(w);
	arena_fini(&record);
	return rc;
}

/* ---- answers that were read back */

static infer_chat *chat;
static infer_tools *tools;

static int read_back(infer_reply **r, const char *text, infer_error *err)
{
	const struct infer_reply_options o = { .tools = tools };

	TRY(infer_reply_new(r, chat, &o, err));
	TRY(infer_reply_put(*r, text, strlen(text), err));
	return infer_reply_end(*r, err);
}

static int case_reply(void)
{
	struct infer_run_info run = { .model = model, .engine = engine, .sample = &sample };
	const infer_job j = { .id = "a", .n = 1, .logprobs = -1 };
	struct infer_choice c = { .finish = INFER_FINISH_STOP };
	const struct infer_answer a = { .job = &j, .choices = &c };
	infer_records *w = NULL;
	infer_reply *called = NULL, *thought = NULL;
	infer_error err;
	const struct json *o;
	int rc;

	nth_ok(infer_records_new(&w, &err));
	nth_ok(read_back(&called,
	                 "<think>t</"
	                 "think><tool_call>[{\"name\":\"f\",\"arguments\":{\"a\":\"\\\"\"},\"id\":"
	                 "\"x\"},{\"name\":\"f\"}]</tool_call>",
	                 &err));
	nth_ok(read_back(&thought, "<think>t</think>c", &err));
	c.reply = called;
	nth_ok(infer_write_answer(w, &a, &run, &err));
	o = parse(message(w));
	check_keys(o,
	           "v kind id created text reasoning tool_calls finish_reason usage timings run");
	assert_json_string(json_get(o, "finish_reason"), "tool_calls");
	assert_json_string(json_get(o, "reasoning"), "t");
	assert_non_null(strstr(line, "\"tool_calls\":[{\"id\":\"x\",\"type\":\"function\","
	                             "\"function\":{\"name\":\"f\",\"arguments\":"
	                             "\"{\\\"a\\\":\\\"\\\\\\\"\\\"}\"}},{\"id\":\"call_"));
	c.finish = INFER_FINISH_LENGTH;
	nth_ok(infer_write_answer(w, &a, &run, &err));
	assert_non_null(strstr(message(w), "\"finish_reason\":\"length\""));
	c = (struct infer_choice){ .text = { "c", 1 },
		                   .finish = INFER_FINISH_STOP,
		                   .reply = thought };
	nth_ok(infer_write_answer(w, &a, &run, &err));
	o = parse(message(w));
	check_keys(o, "kind id created text reasoning finish_reason usage timings run");
	assert_json_string(json_get(o, "finish_reason"), "stop");
out:
	infer_reply_free(called);
	infer_reply_free(thought);
	infer_records_free(w);
	arena_fini(&record);
	return rc;
}

static int case_score(void)
{
	const struct infer_run_info run = { model, engine, &sample, flags, 2, 1 };
	const int32_t ids[3] = { 4, 5, 6 };
	const float logprobs[3] = { NAN, -1, -2 };
	infer_records *w = NULL;
	const struct json *o;
	infer_error err;
	int rc;

	nth_ok(infer_records_new(&w, &err));
	nth_ok(infer_write_score(w, "s", ids, logprobs, 3, &run, &err));
	assert_non_null(strstr(message(w), "{\"v\":1,\"kind\":\"score\",\"id\":\"s\",\"tokens\":[4,"
	                                   "5,6],\"logprobs\":[null,-1,-2],"
	                                   "\"perplexity\":4.48168907,\"run\":{"));
	o = parse(line);
	check_run(json_get(o, "run"));
	nth_ok(infer_write_score(w, NULL, ids, logprobs, 1, &run, &err));
	assert_non_null(strstr(message(w), "\"logprobs\":[null],\"perplexity\":null"));
out:
	infer_records_free(w);
	arena_fini(&record);
	return rc;
}

static infer_chat *talk;

static const char ask[] = "{\"custom_id\":\"c\",\"method\":\"POST\",\"url\":\"/v1/chat/"
			  "completions\",\"body\":"
			  "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],"
			  "\"logprobs\":true,\"top_logprobs\":1}}";
static const struct infer_fault why = {
	{ INFER_EUNSUP, "no" }, "tools", INFER_FAULT_INVALID, 0, 0
};

/* A conversation in the form of chat completions: its message, the tokens that its text is made of,
 * a fault. */
static int case_chat(void)
{
	const infer_tokenizer *t = infer_model_tokenizer(model);
	const struct infer_job_opts o = {
		.model = model, .chat = talk, .max_tokens = -1, .logprobs = -1
	};
	const struct infer_top top = { 7, -0.5f };
	const struct infer_event events[] = {
		{ .token = 7, .logprob = -0.5f, .top = &top, .n_top = 1 },
		{ .index = 1,
		  .token = infer_token_special(t, INFER_EOS),
		  .logprob = -INFINITY,
		  .top = &top,
		  .n_top = 1 },
	};
	const struct infer_choice c = { .text = { "a\xff", 2 },
		                        .usage = { .prompt_tokens = 3, .completion_tokens = 2 },
		                        .tokens = events,
		                        .n_tokens = 2 };
	struct infer_answer a = { .choices = &c, .tokenizer = t, .created = 7 };
	const struct infer_sample_opts drawn = { 0 };
	const struct infer_run_info info = { .model = model, .engine = engine, .sample = &drawn };
	infer_job_reader *r = NULL;
	infer_records *w = NULL;
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_records_new(&w, &err));
	nth_ok(infer_job_reader_new(&r, &o, &err));
	nth_ok(infer_line_read(&j, ask, sizeof ask - 1, 1, 0, r, &err));
	assert_string_equal(j->fault.error.message, "");
	a.job = j;
	nth_ok(infer_write_answer(w, &a, &info, &err));
	const struct json *body = json_get(json_get(parse(message(w)), "response"), "body"),
			  *choice = json_at(json_get(body, "choices"), 0);
	const struct json *content = json_get(json_get(choice, "logprobs"), "content"),
			  *first = json_at(content, 0);
	const struct json *token = json_get(json_at(json_get(first, "top_logprobs"), 0), "token");
	assert_json_string(json_get(json_get(choice, "message"), "content"), "a\xef\xbf\xbd");
	assert_json_string(json_get(choice, "finish_reason"), "stop");
	assert_int_equal(json_int(json_get(body, "created")), 7);
	assert_json_string(json_get(body, "model"), "random");
	assert_int_equal(json_int(json_get(json_get(body, "usage"), "total_tokens")), 5);
	assert_int_equal(json_count(content), 1);
	assert_true(json_double(json_get(first, "logprob")) == -0.5);
	assert_int_equal(json_bytes(token), 1);
	assert_int_equal(json_int(json_at(json_get(first, "bytes"), 0)),
	                 (unsigned char)*json_str(token));
	nth_ok(infer_write_fault(w, j, &why, &err));
	body = json_get(parse(message(w)), "response");
	assert_int_equal(json_int(json_get(body, "status_code")), 400);
	assert_json_string(json_get(json_get(json_get(body, "body"), "error"), "param"), "tools");
out:
	infer_job_free(j);
	infer_job_reader_free(r);
	infer_records_free(w);
	arena_fini(&record);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_kinds), nth_case(case_token),      nth_case(case_fields),
		nth_case(case_error), nth_case(case_completion), nth_case(case_reply),
		nth_case(case_chat),  nth_case(case_score),
	};
	const struct infer_engine_opts o = { .threads = 1,
		                             .isa = "ref",
		                             .ctx = 128,
		                             .kv_set = 1,
		                             .k_type = INFER_F32,
		                             .v_type = INFER_F16 };
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	static const char list[] = "[{\"name\":\"f\"}]";

	if (infer_tools_read(&tools, list, sizeof list - 1, &err) ||
	    infer_model_open(&model, run_model("record", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err) ||
	    infer_chat_open(&talk, "{{ messages[0].content }}", 25, "talk", &err) ||
	    infer_engine_open(&engine, model, &o, &err) ||
	    infer_chat_open(&chat, "{# <tool_call> #}", 17, "chat", &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = nth_group(tests);
	infer_tools_free(tools);
	infer_chat_close(&talk);
	infer_chat_close(&chat);
	infer_engine_close(&engine);
	infer_model_close(&model);
	return failed;
}
