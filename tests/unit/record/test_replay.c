/* tests/unit/record/test_replay.c - replaying records: which ones can be replayed, and how they
 * differ. */
#include "../engine/run.h"
#include <math.h>

#include <infer/replay.h>
#include "base/err.h"

static infer_model *model;
static infer_job_reader *reader;

#define RUN \
	"\"run\":{\"version\":\"0.0\",\"model\":{\"id\":\"m\"},\"placement\":\"cpu:0-1\",\"kv_" \
	"type\":" \
	"\"f16\",\"ctx\":64}"
#define ASKED "\"request\":{\"kind\":\"request\",\"id\":\"a\",\"prompt\":\"the\",\"max_tokens\":9"
#define OWN(body) \
	"{\"kind\":\"completion\",\"id\":\"a\"," body "," ASKED ",\"logprobs\":1}," RUN "}"
#define SEVERAL(body) \
	"{\"kind\":\"completion\",\"id\":\"a\"," body "," ASKED ",\"logprobs\":1,\"n\":2}," RUN "}"
#define OTHER(object, choice) \
	"{\"id\":\"b\",\"custom_id\":\"a\",\"response\":{\"status_code\":200,\"body\":{" \
	"\"object\":\"" object "\",\"choices\":[" choice "]," ASKED ",\"logprobs\":1}," RUN \
	"}},\"error\":null}"

/* What the answer to each is, in words of the tables below. */
static const struct infer_top tops[] = { { 5, -1 }, { 6, -2 } };
static const struct infer_event tokens[] = {
	{ .token = 5, .logprob = -1, .top = &tops[0], .n_top = 1 },
	{ .token = 6, .logprob = -0.1f, .top = &tops[1], .n_top = 1 },
};
static const struct infer_choice choices[] = {
	{ .text = { "the m\xc3\xa4n", 8 },
	  .finish = INFER_FINISH_STOP,
	  .usage = { .prompt_tokens = 3, .completion_tokens = 2 },
	  .tokens = tokens,
	  .n_tokens = 2 },
	{ .text = { "x", 1 },
	  .finish = INFER_FINISH_LENGTH,
	  .usage = { .prompt_tokens = 3, .completion_tokens = 1 },
	  .tokens = tokens,
	  .n_tokens = 1 },
};

#define TEXT "\"text\":\"the m\xc3\xa4n\""
static const struct {
	const char *line;
	uint32_t compared;
	const char *field, *says;
} cases[] = {
	{ OWN(TEXT), INFER_REPLAY_TEXT, NULL, "" },
	{ OWN("\"finish_reason\":\"stop\",\"usage\":{\"completion_tokens\":2,\"prompt_tokens\":3,"
	      "\"cached_tokens\":77},\"created\":5"),
	  INFER_REPLAY_FINISH | INFER_REPLAY_USAGE, NULL, "" },
	{ OWN("\"tokens\":[5,6],\"logprobs\":[-1.0,-0.100000001],\"top\":[[{\"logprob\":-1,\"id\":"
	      "5}"
	      "],[{\"id\":6,\"logprob\":-2}]]"),
	  INFER_REPLAY_TOKENS | INFER_REPLAY_LOGPROBS | INFER_REPLAY_TOP, NULL, "" },
	{ OWN("\"created\":5"), 0, NULL, "" },
	{ OWN("\"text\":\"the m\xc3\xb6n\""), INFER_REPLAY_TEXT, "text",
	  "sample 0, byte 5, text: now \"\xc3\xa4n\", in the record \"\xc3\xb6n\"" },
	{ OWN("\"text\":\"the\""), INFER_REPLAY_TEXT, "text",
	  "byte 3, text: now \" m\xc3\xa4n\", in" },
	{ OWN("\"tokens\":[5,7],\"logprobs\":[-1,-2],\"text\":\"\""),
	  INFER_REPLAY_TOKENS | INFER_REPLAY_LOGPROBS | INFER_REPLAY_TEXT, "id",
	  "sample 0, token 1, id: now 6, in the record 7" },
	{ OWN("\"tokens\":[5,7],\"logprobs\":[-1.5,-0.1]"),
	  INFER_REPLAY_TOKENS | INFER_REPLAY_LOGPROBS, "logprob",
	  "sample 0, token 0, logprob: now -1, in the record -1.5" },
	{ OWN("\"tokens\":[5,6],\"logprobs\":[-1,null]"),
	  INFER_REPLAY_TOKENS | INFER_REPLAY_LOGPROBS, "logprob",
	  "now -0.100000001, in the record null" },
	{ OWN("\"tokens\":[5]"), INFER_REPLAY_TOKENS, "id",
	  "token 1, id: now 6, in the record none" },
	{ OWN("\"tokens\":[5,6,7]"), INFER_REPLAY_TOKENS, "id",
	  "token 2, id: now none, in the record 7" },
	{ OWN("\"top\":[[{\"id\":5,\"logprob\":-1}],[{\"id\":6,\"logprob\":-3}]]"),
	  INFER_REPLAY_TOP, "top",
	  "token 1, top: now [{\"id\":6,\"logprob\":-2}], in the record [{" },
	{ OWN("\"finish_reason\":\"length\""), INFER_REPLAY_FINISH, "finish_reason",
	  "finish_reason: now \"stop\", in the record \"length\"" },
	{ OWN("\"reasoning\":\"r\""), INFER_REPLAY_REASONING, "reasoning",
	  "now none, in the record \"r\"" },
	{ OWN("\"usage\":{\"prompt_tokens\":4},\"text\":\"\""),
	  INFER_REPLAY_USAGE | INFER_REPLAY_TEXT, "prompt_tokens",
	  "prompt_tokens: now 3, in the record 4" },
	{ SEVERAL("\"choices\":[{" TEXT "},{\"text\":\"x\",\"tokens\":[5]}]"),
	  INFER_REPLAY_TEXT | INFER_REPLAY_TOKENS, NULL, "" },
	{ SEVERAL("\"choices\":[{" TEXT "},{\"text\":\"x\",\"logprobs\":[-2]}]"),
	  INFER_REPLAY_TEXT | INFER_REPLAY_LOGPROBS, "logprob",
	  "sample 1, token 0, logprob: now -1" },
	{ SEVERAL("\"choices\":[{" TEXT "}]"), INFER_REPLAY_TEXT, "choices",
	  "sample 1, choices: now {" },
	{ OTHER("text_completion",
	        "{\"text\":\"the m\xc3\xa4n\",\"logprobs\":{\"token_logprobs\":[-1,-"
	        "0.100000001]}}"),
	  INFER_REPLAY_TEXT | INFER_REPLAY_LOGPROBS, NULL, "" },
	{ OTHER("text_completion",
	        "{\"text\":\"the m\xc3\xa4n\",\"logprobs\":{\"token_logprobs\":[-1,-"
	        "0.2]}}"),
	  INFER_REPLAY_TEXT | INFER_REPLAY_LOGPROBS, "logprob", "token 1, logprob" },
	{ OTHER("chat.completion", "{\"message\":{\"role\":\"assistant\",\"content\":\"x\"}}"),
	  INFER_REPLAY_TEXT, "message",
	  "sample 0, message: now {\"role\":\"assistant\",\"content\":\"the" },
};

static size_t now;
static int case_compare(void)
{
	struct infer_replay_verdict v;
	infer_replay *p = NULL;
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_replay_read(&p, cases[now].line, strlen(cases[now].line), 3, &err));
	nth_ok(infer_replay_job(&j, p, reader, &err));
	if (j->fault.kind)
		fail_msg("%s: %s", cases[now].line, j->fault.error.message);
	nth_ok(infer_replay_compare(
		p,
		&(struct infer_answer){
			.job = j, .choices = choices, .tokenizer = infer_model_tokenizer(model) },
		&v, &err));
	if (v.compared != cases[now].compared || v.differs != (cases[now].field != NULL) ||
	    (v.field && strcmp(v.field, cases[now].field)))
		fail_msg("%s: %x, %s, %s", cases[now].line, v.compared, v.field ? v.field : "-",
		         v.sentence);
	/* a value is not shown where there is no memory for it */
	if (!strstr(v.sentence, cases[now].says) && !strstr(v.sentence, "now none, in the") &&
	    !strstr(v.sentence, "record none"))
		fail_msg("'%s', not '%s'", v.sentence, cases[now].says);
out:
	infer_job_free(j);
	infer_replay_free(p);
	return rc;
}

static void test_compare(void **state)
{
	struct nth n = { case_compare };
	void *at = &n;

	(void)state;
	for (now = 0; now < sizeof cases / sizeof *cases; now++)
		nth_run(&at);
}

/* What was made in which context gives the same in another. */
static const struct {
	const char *line;
	int64_t least;
} contexts[] = {
	{ OWN("\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}"),
	  6 },
	{ OWN("\"finish_reason\":\"length\",\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":"
	      "9}"),
	  13 },
	/* the context ended it */
	{ OWN("\"finish_reason\":\"length\",\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":"
	      "8}"),
	  0 },
	{ OWN("\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}"), 0 },
	{ OWN("\"finish_reason\":\"stop\""), 0 },
	{ SEVERAL("\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5},\"choices\":[{\"finish_"
	          "reason\":"
	          "\"stop\"},{\"finish_reason\":\"length\",\"usage\":{\"completion_tokens\":9}}]"),
	  9 },
	{ SEVERAL("\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5},\"choices\":[{\"finish_"
	          "reason\":"
	          "\"stop\"},{\"finish_reason\":\"length\",\"usage\":{\"completion_tokens\":4}}]"),
	  0 },
};

static int case_made(void)
{
	struct infer_replay_made made;
	infer_replay *p = NULL;
	infer_error err;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
		nth_ok(infer_replay_read(&p, contexts[i].line, strlen(contexts[i].line), 3, &err));
		infer_replay_made(p, &made);
		assert_string_equal(made.id, "a");
		assert_string_equal(made.model_id, "m");
		assert_string_equal(made.kv_type, "f16");
		assert_string_equal(made.act_type, "f32"); /* of a record that does not say */
		assert_string_equal(made.placement, "cpu:0-1");
		assert_string_equal(made.version, "0.0");
		assert_int_equal(made.line, 3);
		assert_int_equal(made.ctx, 64);
		assert_null(made.tokens);
		if (made.ctx_least != contexts[i].least)
			fail_msg("%s: %lld", contexts[i].line, (long long)made.ctx_least);
		infer_replay_free(p);
		p = NULL;
	}
out:
	infer_replay_free(p);
	return rc;
}

/* Records of other kinds, and of failed requests, are passed over; others are refused. */
static const struct {
	const char *line;
	int code;
	const char *says;
} others[] = {
	{ "{\"kind\":\"token\",\"id\":1}", INFER_OK, "" },
	{ "{\"kind\":\"from the future\",\"request\":{}}", INFER_OK, "" },
	{ "{\"kind\":\"error\",\"id\":\"a\"}", INFER_OK, "" },
	{ "{}", INFER_OK, "" },
	{ "{\"custom_id\":\"a\",\"response\":{\"status_code\":400,\"body\":{}}}", INFER_OK, "" },
	{ "{\"kind\":\"completion\",\"id\":-4," RUN "}", INFER_EINVAL,
	  "line 3: the record of '-4' has no request" },
	{ "{\"custom_id\":\"a\",\"response\":{\"status_code\":200,\"body\":{}}}", INFER_EINVAL,
	  "'a' has no request" },
	{ "{\"kind\":\"completion\",\"id\":\"a\"," ASKED "}}", INFER_EINVAL, "has no run" },
	{ "{\"kind\":\"score\",\"id\":\"a\",\"tokens\":[1]," RUN "}", INFER_EINVAL,
	  "no tokens to score" },
	{ "{\"kind\":\"score\",\"id\":\"a\",\"tokens\":[1,-1]," RUN "}", INFER_EINVAL,
	  "tokens[1] must be" },
	{ "[1]", INFER_EFORMAT, "line 3 is not a record" },
	{ "{\"kind\":\"completion\",", INFER_EFORMAT, "line 3: column" },
	{ "", INFER_EFORMAT, "line 3" },
};

static int case_others(void)
{
	infer_replay *p = NULL;
	infer_error err;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		err_set(&err, INFER_OK, "%s", "");
		nth_fails(infer_replay_read(&p, others[i].line, strlen(others[i].line), 3, &err),
		          others[i].code);
		assert_null(p);
		if (!strstr(err.message, others[i].says))
			fail_msg("%s: %s", others[i].line, err.message);
	}
out:
	infer_replay_free(p);
	return rc;
}

static int case_request(void)
{
	static const char line[] =
		"{\"kind\":\"completion\",\"id\":\"a\",\"request\":{\"kind\":\"token\"}," RUN "}";
	infer_replay *p = NULL;
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_replay_read(&p, line, sizeof line - 1, 3, &err));
	nth_ok(infer_replay_job(&j, p, reader, &err));
	assert_int_equal(j->fault.error.code, INFER_EINVAL);
	assert_int_equal(j->fault.kind, INFER_FAULT_INVALID);
out:
	infer_job_free(j);
	infer_replay_free(p);
	return rc;
}

static int case_scores(void)
{
	static const char line[] =
		"{\"kind\":\"score\",\"id\":\"1\",\"tokens\":[4,5,6],\"logprobs\":[null,-0."
		"100000001,null]," RUN "}";
	const float same[] = { NAN, -0.1f, -INFINITY }, other[] = { NAN, -0.2f, -INFINITY },
		    finite[] = { NAN, -0.1f, -1 };
	struct infer_replay_verdict v;
	struct infer_replay_made made;
	infer_replay *p = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_replay_read(&p, line, sizeof line - 1, 3, &err));
	infer_replay_made(p, &made);
	assert_int_equal(made.n_tokens, 3);
	assert_int_equal(made.tokens[2], 6);
	assert_int_equal(made.ctx_least, 0);
	infer_replay_compare_scores(p, same, 3, &v);
	assert_int_equal(v.differs, 0);
	assert_int_equal(v.compared, INFER_REPLAY_TOKENS | INFER_REPLAY_LOGPROBS);
	infer_replay_compare_scores(p, other, 3, &v);
	assert_true(v.differs && v.position == 1 && v.sample == -1);
	infer_replay_compare_scores(p, finite, 3, &v);
	assert_true(v.differs && v.position == 2);
	infer_replay_compare_scores(p, same, 2, &v);
	assert_int_equal(v.differs, 0);
out:
	infer_replay_free(p);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare), nth_case(case_made),   nth_case(case_others),
		nth_case(case_request),         nth_case(case_scores),
	};
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("replay", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err) ||
	    infer_job_reader_new(
		    &reader,
		    &(struct infer_job_opts){ .model = model, .max_tokens = -1, .logprobs = -1 },
		    &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = nth_group(tests);
	infer_job_reader_free(reader);
	infer_model_close(&model);
	return failed;
}
