/* tests/unit/api/test_own_write.c - requests written as lines: reading them again gives the same job,
 * for every field of a request. */
#include "../engine/run.h"
#include <math.h>

#include <infer/param.h>
#include <infer/record.h>
#include "api/fields.h"

static infer_model *model;
static infer_chat *talk_chat, *tool_chat;
static const struct infer_str colon = { ":", 1 };
static struct infer_job_opts opts;

static const char talk_src[] = "{% for m in messages %}[{{ m.role }} {{ m.content }}]{% endfor %}"
			       "{{ enable_thinking|default('') }}{{ more|default('') }}"
			       "{{ strftime_now('%Y') }}{{ '>' if add_generation_prompt }}";
static const char tool_src[] =
	"{# <tool_call> #}{% for t in tools or [] %}#{{ (t.function or t).name }}{% endfor %}"
	"{% for m in messages %}{{ m.content }}{% endfor %}";

#define TALK "\"messages\":[{\"role\":\"user\",\"content\":\"the of\"}]"
#define DRY "\"prompt\":\"the\",\"dry_multiplier\":1"
/* For every field a request that has it, and whose answer is another one than without it.
 * without: the request that lacks it; NULL: such a request asks the same */
static const struct {
	const char *key, *line, *without;
} fields[] = {
	{ "v", "{\"v\":1,\"prompt\":\"the\"}", NULL },
	{ "kind", "{\"kind\":\"request\",\"prompt\":\"the\"}", NULL },
	{ "id", "{\"id\":-12,\"prompt\":\"the\"}", "{\"prompt\":\"the\"}" },
	{ "prompt", "{\"prompt\":[3,4,5]}", "{\"prompt\":\"the\"}" },
	{ "model", "{\"prompt\":\"the\",\"model\":\"random\"}", NULL },
	{ "lora", "{\"prompt\":\"the\",\"lora\":[]}", NULL },
	{ "raw", "{\"prompt\":\"the\",\"raw\":true}", "{\"prompt\":\"the\"}" },
	{ "messages",
	  "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\\u0000\"}"
	  "]"
	  "},{\"role\":\"assistant\",\"content\":\"b\"}]}",
	  "{\"prompt\":\"the\"}" },
	{ "tools", "{" TALK ",\"tools\":[{\"name\":\"look\",\"parameters\":{\"x\":1e300}}]}",
	  "{" TALK "}" },
	{ "tool_choice", "{" TALK ",\"tools\":[{\"name\":\"look\"}],\"tool_choice\":\"required\"}",
	  "{" TALK ",\"tools\":[{\"name\":\"look\"}]}" },
	{ "tool_choice",
	  "{" TALK ",\"tools\":[{\"name\":\"look\"},{\"name\":\"f\"}],\"tool_choice\":\"f\"}",
	  "{" TALK ",\"tools\":[{\"name\":\"look\"},{\"name\":\"f\"}],\"tool_choice\":\"auto\"}" },
	{ "template_args", "{" TALK ",\"template_args\":{\"more\":[1.5,null,\"x\"]}}",
	  "{" TALK "}" },
	{ "template_sha256", "{" TALK "}", NULL },
	{ "think", "{" TALK ",\"think\":false}", "{" TALK "}" },
	{ "think_budget", "{" TALK ",\"think_budget\":7}", "{" TALK "}" },
	{ "now", "{" TALK ",\"now\":1000000000}", "{" TALK "}" },
	{ "logprobs", "{\"prompt\":\"the\",\"logprobs\":0}", "{\"prompt\":\"the\"}" },
	{ "max_tokens", "{\"prompt\":\"the\",\"max_tokens\":-1}", "{\"prompt\":\"the\"}" },
	{ "min_tokens", "{\"prompt\":\"the\",\"min_tokens\":3}", "{\"prompt\":\"the\"}" },
	{ "priority", "{\"prompt\":\"the\",\"priority\":-1000000}", "{\"prompt\":\"the\"}" },
	{ "n", "{\"prompt\":\"the\",\"n\":3}", "{\"prompt\":\"the\"}" },
	{ "stop", "{\"prompt\":\"the\",\"stop\":[\"a\\u0000b\",\"\\ud83d\\ude00\"]}",
	  "{\"prompt\":\"the\"}" },
	{ "stop_token_ids", "{\"prompt\":\"the\",\"stop_token_ids\":[7,0]}",
	  "{\"prompt\":\"the\"}" },
	{ "ignore_eos", "{\"prompt\":\"the\",\"ignore_eos\":true}", "{\"prompt\":\"the\"}" },
	{ "include_stop_str_in_output", "{\"prompt\":\"the\",\"include_stop_str_in_output\":true}",
	  "{\"prompt\":\"the\"}" },
	{ "timings_per_token", "{\"prompt\":\"the\",\"timings_per_token\":true}", NULL },
	{ "samplers", "{\"prompt\":\"the\",\"samplers\":[\"temp\",\"typical\"]}",
	  "{\"prompt\":\"the\"}" },
	{ "logit_bias", "{\"prompt\":\"the\",\"logit_bias\":[[5,-99.1234567],[6,false],[7,1e-30]]}",
	  "{\"prompt\":\"the\"}" },
	{ "dry_sequence_breakers", "{" DRY ",\"dry_sequence_breakers\":[\"the\",\"\\n\"]}",
	  "{" DRY "}" },
	{ "dry_sequence_breakers", "{" DRY ",\"dry_sequence_breakers\":[]}", "{" DRY "}" },
	{ "bad_words", "{\"prompt\":\"the\",\"bad_words\":[\"of \",\"\\u00e9\"]}",
	  "{\"prompt\":\"the\"}" },
	{ "seed", "{\"prompt\":\"the\",\"seed\":18446744073709551615}", "{\"prompt\":\"the\"}" },
	{ "seed", "{\"prompt\":\"the\",\"seed\":-9223372036854775808}", "{\"prompt\":\"the\"}" },
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

/* Others that have to come back. */
static const char *const lines[] = {
	"{\"prompt\":\"\\\" \\u0001 \\ud83d\\ude00\"}",
	"{\"prompt\":\"\"}",
	"{\"prompt\":\"the of\",\"raw\":true,\"id\":\"\\u00e9\"}",
	"{" TALK ",\"think\":true,\"n\":2,\"logprobs\":128,\"seed\":4}",
	"{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":"
	"\"u\"}"
	"]}",
	"{\"prompt\":\"the\",\"repeat_last_n\":0,\"dry_penalty_last_n\":0,\"top_n_sigma\":-1}",
	"{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":"
	"\"the\",\"logprobs\":2,\"seed\":3}}",
	"{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{" TALK
	",\"logprobs\":true,\"top_logprobs\":4,\"tools\":[{\"type\":\"function\",\"function\":{"
	"\"name\":\"f\"}}],\"tool_choice\":\"none\",\"chat_template_kwargs\":{\"more\":\"x\"}}}",
};

static int read_line(infer_job **j, const infer_job_reader *r, const char *line, size_t n,
                     infer_error *err)
{
	int rc = infer_line_read(j, line, n, 7, 0, r, err);

	if (!rc && (*j)->fault.error.code)
		fail_msg("%.*s: %s", (int)n, line, (*j)->fault.error.message);
	return rc;
}

static int same_texts(const struct infer_str *a, size_t n_a, const struct infer_str *b, size_t n_b)
{
	if (n_a != n_b)
		return 0;
	for (size_t i = 0; i < n_a; i++)
		if (a[i].len != b[i].len || memcmp(a[i].at, b[i].at, a[i].len))
			return 0;
	return 1;
}

/* NULL: they ask for the same; else what differs. */
static const char *sampling_differs(const struct infer_sample_opts *a,
                                    const struct infer_sample_opts *b)
{
	const struct infer_sample_param *p;

	for (int i = 0; (p = infer_sample_param(i)); i++)
		if (infer_sample_get(a, p) != infer_sample_get(b, p))
			return p->name;
	if (memcmp(a->order, b->order, sizeof a->order))
		return "samplers";
	if (a->n_bias != b->n_bias)
		return "logit_bias";
	for (int32_t i = 0; i < a->n_bias; i++)
		if (a->bias[i].token != b->bias[i].token || a->bias[i].bias != b->bias[i].bias)
			return "a bias";
	if (a->n_dry_breakers != b->n_dry_breakers)
		return "breakers";
	for (int32_t i = 0; i < a->n_dry_breakers; i++)
		if (a->n_dry_breaker[i] != b->n_dry_breaker[i] ||
		    memcmp(a->dry_breakers[i], b->dry_breakers[i],
		           (size_t)a->n_dry_breaker[i] * sizeof **a->dry_breakers))
			return "a breaker";
	if (a->n_banned != b->n_banned)
		return "bad_words";
	for (int32_t i = 0; i < a->n_banned; i++)
		if (a->n_banned_ids[i] != b->n_banned_ids[i] ||
		    memcmp(a->banned[i], b->banned[i],
		           (size_t)a->n_banned_ids[i] * sizeof **a->banned))
			return "a bad word";
	return a->seed == b->seed ? NULL : "seed";
}

static const char *differs(const infer_job *a, const infer_job *b)
{
	const struct infer_request *p = &a->request, *q = &b->request;
	const char *what = sampling_differs(&p->sample, &q->sample);

	if (what)
		return what;
	if (p->n_prompt != q->n_prompt ||
	    memcmp(p->prompt, q->prompt, p->n_prompt * sizeof *p->prompt))
		return "prompt";
	if (p->max_tokens != q->max_tokens || p->min_tokens != q->min_tokens || p->top != q->top ||
	    p->flags != q->flags || p->priority != q->priority ||
	    p->reason_limit != q->reason_limit)
		return "max_tokens, min_tokens, top, flags, priority or reason_limit";
	if (!same_texts(p->stop, (size_t)p->n_stop, q->stop, (size_t)q->n_stop))
		return "stop";
	if (p->n_stop_tokens != q->n_stop_tokens ||
	    (p->n_stop_tokens && memcmp(p->stop_tokens, q->stop_tokens,
	                                (size_t)p->n_stop_tokens * sizeof *p->stop_tokens)))
		return "stop_token_ids";
	if (strcmp(a->id, b->id) || a->id_whole != b->id_whole)
		return "id";
	if (a->n != b->n || a->logprobs != b->logprobs)
		return "n or logprobs";
	if (!a->request.grammar != !b->request.grammar ||
	    (a->request.grammar && a->calls != b->calls))
		return "tool_choice";
	if (a->chat != b->chat || !a->reply.tools != !b->reply.tools)
		return "template or tools";
	return a->reply.prompt_n == b->reply.prompt_n &&
	                       (!a->reply.prompt_n ||
	                        !memcmp(a->reply.prompt, b->reply.prompt, a->reply.prompt_n))
	               ? NULL
	               : "what the prompt ends with";
}

/* Read, written, read: the same job, and the same text again. */
static int again(infer_job **first, const infer_job_reader *r, const char *line, infer_error *err)
{
	infer_job *second = NULL;
	int rc;

	nth_ok(read_line(first, r, line, strlen(line), err));
	nth_ok(read_line(&second, r, (*first)->asked.at, (*first)->asked.len, err));
	const char *what = differs(*first, second);

	if (what)
		fail_msg("%s\n%.*s\ndiffer by %s", line, (int)(*first)->asked.len,
		         (*first)->asked.at, what);
	assert_int_equal(second->asked.len, (*first)->asked.len);
	assert_memory_equal(second->asked.at, (*first)->asked.at, second->asked.len);
out:
	infer_job_free(second);
	return rc;
}

static const char *line_now, *without_now;

static int case_again(void)
{
	infer_job_reader *r = NULL;
	infer_job *j = NULL, *without = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_job_reader_new(&r, &opts, &err));
	nth_ok(again(&j, r, line_now, &err));
	if (without_now) { /* else the case would hold whatever became of the field */
		nth_ok(read_line(&without, r, without_now, strlen(without_now), &err));
		if (!differs(j, without))
			fail_msg("%s asks the same as %s", line_now, without_now);
	}
out:
	infer_job_free(without);
	infer_job_free(j);
	infer_job_reader_free(r);
	return rc;
}

static void run_again(const char *line, const char *without)
{
	struct nth n = { case_again };
	void *at = &n;

	line_now = line;
	without_now = without;
	nth_run(&at);
}

static void set_chat(int both)
{
	opts.chat = talk_chat;
	opts.chat_tools = both ? tool_chat : NULL;
	opts.conversation =
		(struct infer_conversation){ .flags = INFER_CHAT_CONTINUE, .now = 86400 };
}

static void test_fields(void **state)
{
	(void)state;
	set_chat(1);
	for (size_t i = 0; i < N_FIELDS; i++)
		run_again(fields[i].line, fields[i].without);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		run_again(lines[i], NULL);
}

/* Each number of param_list.h, at both ends of its range and between. */
static void test_numbers(void **state)
{
	const struct infer_sample_param *p;
	char line[128], without[64];

	(void)state;
	set_chat(0);
	for (int i = 0; (p = infer_sample_param(i)); i++) {
		double lo = p->range.above ? 1e-30 : p->range.lo, hi = p->range.hi,
		       some = p->whole ? (hi < 3 ? hi : 3) : lo + (hi - lo) / 3;
		const double values[] = { lo, hi, some };
		/* the other numbers of DRY come to nothing where it is off */
		const char *dry = strncmp(p->name, "dry_", 4) || !strcmp(p->name, "dry_multiplier")
		                          ? ""
		                          : ",\"dry_multiplier\":1";

		snprintf(without, sizeof without, "{\"prompt\":\"the\"%s}", dry);
		for (size_t k = 0; k < 3; k++) {
			snprintf(line, sizeof line, "{\"prompt\":\"the\",\"%s\":%.17g%s}", p->name,
			         values[k], dry);
			run_again(line, k == 2 ? without : NULL);
		}
	}
}

static void in_table(const struct job_field *f)
{
	for (; f->key; f++) {
		int n = 0;

		for (size_t i = 0; i < N_FIELDS; i++)
			n += !strcmp(fields[i].key, f->key);
		if (!f->take || !f->put || !n)
			fail_msg("the field %s has no %s", f->key,
			         !f->take  ? "reader"
			         : !f->put ? "writer"
			                   : "case in this test");
	}
}

/* A field that is new has a writer and a case here. */
static void test_tables(void **state)
{
	(void)state;
	in_table(job_own);
	in_table(job_common);
	in_table(job_sampling_others);
}

/* Options that requests leave open are written down as if they had been asked for. */
static int case_options(void)
{
	static const char tools[] = "[{\"name\":\"look\"}]", args[] = "{\"more\":\"M\"}";
	static const struct infer_str stop = { "zz", 2 };
	static const int32_t ids[] = { 9 };
	struct infer_job_opts bare = opts;
	infer_job_reader *r = NULL, *open = NULL;
	infer_job *j = NULL, *k = NULL;
	infer_tools *read = NULL;
	infer_error err;
	int rc;

	set_chat(1);
	nth_ok(infer_tools_read(&read, tools, sizeof tools - 1, &err));
	bare = opts;
	opts.conversation.system = "S\xc3\xa9";
	opts.conversation.system_n = 3;
	opts.conversation.tools = read;
	opts.conversation.args = args;
	opts.conversation.args_n = sizeof args - 1;
	opts.stop = &stop;
	opts.n_stop = 1;
	opts.stop_tokens = ids;
	opts.n_stop_tokens = 1;
	opts.max_tokens = 5;
	opts.logprobs = 3;
	opts.flags = INFER_REQ_IGNORE_EOS;
	nth_ok(infer_job_reader_new(&r, &opts, &err));
	bare.reads = INFER_JOB_KEEP;
	nth_ok(infer_job_reader_new(&open, &bare, &err));
	nth_ok(read_line(&j, r, "{\"prompt\":\"the of\"}", 19, &err));
	nth_ok(read_line(&k, open, j->asked.at, j->asked.len, &err));
	if (differs(j, k))
		fail_msg("%.*s: differs by %s", (int)j->asked.len, j->asked.at, differs(j, k));
out:
	infer_job_free(j);
	infer_job_free(k);
	infer_job_reader_free(r);
	infer_job_reader_free(open);
	infer_tools_free(read);
	bare.reads = opts.reads;
	opts = bare;
	return rc;
}

/* A year later at every call. */
static int64_t next_year(void)
{
	static int64_t now = 1000000000;

	return now += 366 * 86400;
}

/* The clock is read for each request, unless that says what time it is. */
static int case_clock(void)
{
	static const char with[] = "{" TALK ",\"now\":1000000000}", without[] = "{" TALK "}";
	infer_job_reader *r = NULL;
	infer_job *jobs[4] = { NULL };
	infer_error err;
	int rc;

	set_chat(0);
	opts.now = next_year;
	rc = infer_job_reader_new(&r, &opts, &err);
	opts.now = NULL;
	nth_ok(rc);
	for (int i = 0; i < 4; i++)
		nth_ok(read_line(&jobs[i], r, i < 2 ? without : with,
		                 i < 2 ? sizeof without - 1 : sizeof with - 1, &err));
	assert_non_null(differs(jobs[0], jobs[1]));
	assert_null(differs(jobs[2], jobs[3]));
out:
	for (int i = 0; i < 4; i++)
		infer_job_free(jobs[i]);
	infer_job_reader_free(r);
	return rc;
}

/* A job made by hand: text that is no UTF-8 and prompts with special tokens are their ids; a bias
 * that requests do not have is refused. */
static int case_by_hand(void)
{
	static const int32_t ids[] = { 3, 4 };
	struct infer_logit_bias bias = { 5, 300 };
	infer_job j = { .id = "1", .n = 1, .logprobs = -1 };
	struct infer_asked a = { .job = &j, .text = { "a\xff", 2 } };
	infer_writer *w = NULL;
	infer_error err;
	int rc;

	j.request = (struct infer_request){ .prompt = ids, .n_prompt = 2, .max_tokens = 4 };
	nth_ok(infer_writer_new(&w, &err));
	nth_ok(infer_api_put_request(w, &a, &err));
	assert_non_null(strstr(infer_writer_text(w).at, "{\"kind\":\"request\",\"id\":\"1\","
	                                                "\"prompt\":[3,4],\"max_tokens\":4,"));
	infer_writer_clear(w);
	a.text = (struct infer_str){ "a", 1 };
	nth_ok(infer_api_put_request(w, &a, &err));
	assert_non_null(strstr(infer_writer_text(w).at, "\"prompt\":\"a\",\"raw\":true,"));
	infer_writer_clear(w);
	a.conversation = &(struct infer_conversation){
		.user = "u", .user_n = 1, .messages = "[{\"role\":\"assistant\"}]", .messages_n = 22
	};
	nth_ok(infer_api_put_request(w, &a, &err));
	assert_non_null(strstr(infer_writer_text(w).at,
	                       "\"messages\":[{\"role\":\"assistant\"},{\"role\":\"user\","
	                       "\"content\":\"u\"}],\"max_tokens\""));
	infer_writer_clear(w);
	j.request.sample.bias = &bias;
	j.request.sample.n_bias = 1;
	nth_fails(infer_api_put_request(w, &a, &err), INFER_EINVAL);
	assert_non_null(strstr(err.message, "token 5"));
	bias.bias = -100;
	nth_fails(infer_api_put_request(w, &a, &err), INFER_EINVAL);
out:
	infer_writer_free(w);
	return rc;
}

/* A request for another template is refused. */
static int case_other_template(void)
{
	infer_job_reader *r = NULL;
	infer_job *j = NULL, *k = NULL;
	infer_error err;
	int rc;

	set_chat(0);
	nth_ok(infer_job_reader_new(&r, &opts, &err));
	nth_ok(read_line(&j, r, "{" TALK "}", strlen("{" TALK "}"), &err));
	infer_job_reader_free(r);
	r = NULL;
	opts.chat = tool_chat;
	nth_ok(infer_job_reader_new(&r, &opts, &err));
	nth_ok(infer_line_read(&k, j->asked.at, j->asked.len, 7, 0, r, &err));
	assert_int_equal(k->fault.error.code, INFER_EINVAL);
	assert_string_equal(k->fault.param, "template_sha256");
out:
	infer_job_free(j);
	infer_job_free(k);
	infer_job_reader_free(r);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),  cmocka_unit_test(test_fields),
		cmocka_unit_test(test_numbers), nth_case(case_options),
		nth_case(case_clock),           nth_case(case_by_hand),
		nth_case(case_other_template),
	};
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("request", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err) ||
	    infer_chat_open(&talk_chat, talk_src, sizeof talk_src - 1, "talk", &err) ||
	    infer_chat_open(&tool_chat, tool_src, sizeof tool_src - 1, "tools", &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	opts = (struct infer_job_opts){
		.model = model,
		.sample = { .temp = 0.8f, .repeat_window = 64, .seed = 5 },
		.breaker_texts = &colon,
		.n_breaker_texts = 1,
		.max_tokens = 33,
		.logprobs = -1,
		.reads = INFER_JOB_KEEP,
	};
	failed = nth_group(tests);
	infer_chat_close(&talk_chat);
	infer_chat_close(&tool_chat);
	infer_model_close(&model);
	return failed;
}
