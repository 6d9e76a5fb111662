/* tests/unit/api/test_request.c - request lines, field by field. */
#include "request.h"

static int case_plain(void)
{
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(read_line(&j, "{\"prompt\":\"the of\"}", &err));
	assert_int_equal(j->fault.error.code, 0);
	assert_string_equal(j->id, "7");
	assert_int_equal(j->line, 7);
	assert_string_equal(infer_api_name(j->api), "own");
	assert_int_equal(j->n, 1);
	assert_int_equal(j->logprobs, -1);
	assert_int_equal(j->request.max_tokens, 33);
	assert_int_equal(j->request.top, 0);
	assert_true(j->request.n_prompt >= 2);
	assert_true(j->request.sample.temp == 0.8f);
	assert_true(j->request.sample.seed == rng_hash(5, "7", 1) >> 11);
	assert_true(infer_job_seed(j, 1) >> 53 == 0 && infer_job_seed(j, 9) >> 53 == 0);
	assert_true(infer_job_seed(j, 0) == j->request.sample.seed);
	assert_true(infer_job_seed(j, 1) != infer_job_seed(j, 2));
	assert_null(j->request.sample.dry_breakers);
out:
	infer_job_free(j);
	return rc;
}

static int case_fields(void)
{
	static const char line[] =
		"{\"kind\":\"request\",\"id\":\"a\",\"prompt\":[3,4,5],\"max_tokens\":-1,\"n\":4,"
		"\"logprobs\":3,"
		"\"stop\":[\"x\",\"yz\"],\"stop_token_ids\":[8],\"ignore_eos\":true,\"raw\":false,"
		"\"seed\":-2,"
		"\"temperature\":0,\"dynatemp_range\":0.5,\"dynatemp_exponent\":2,\"top_k\":-1,"
		"\"top_p\":1,"
		"\"min_p\":0.25,\"typical_p\":0.5,\"top_n_sigma\":1.5,\"xtc_probability\":0.5,"
		"\"xtc_threshold\":0.125,\"repeat_penalty\":1.5,\"repeat_last_n\":-1,\"presence_"
		"penalty\":-2,"
		"\"frequency_penalty\":-1,\"dry_multiplier\":2,\"dry_base\":3,\"dry_allowed_"
		"length\":4,"
		"\"dry_penalty_last_n\":9,\"dry_sequence_breakers\":[\"of\"],\"mirostat\":1,"
		"\"mirostat_tau\":2,"
		"\"mirostat_eta\":0.5,\"min_keep\":6,\"samplers\":[\"temp\",\"top-k\"],"
		"\"logit_bias\":{\"5\":-100,\"6\":1.5}}";
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(read_line(&j, line, &err));
	assert_string_equal(j->fault.error.message, "");
	const struct infer_request *r = &j->request;
	const struct infer_sample_opts *s = &r->sample;

	assert_string_equal(j->id, "a");
	assert_int_equal(r->n_prompt, 3);
	assert_int_equal(r->prompt[2], 5);
	assert_int_equal(r->max_tokens, -1);
	assert_int_equal(j->n, 4);
	assert_int_equal(r->top, 3);
	assert_int_equal(r->n_stop, 2);
	assert_memory_equal(r->stop[1].at, "yz", 2);
	assert_int_equal(r->n_stop_tokens, 1);
	assert_int_equal(r->stop_tokens[0], 8);
	assert_int_equal(r->flags, INFER_REQ_IGNORE_EOS);
	assert_true(s->seed == UINT64_MAX - 1);
	assert_true(s->temp == 0 && s->dynatemp_range == 0.5f && s->dynatemp_exp == 2);
	assert_true(s->top_k == 0 && s->top_p == 1 && s->min_p == 0.25f && s->typical == 0.5f);
	assert_true(s->top_n_sigma == 1.5f && s->xtc_probability == 0.5f &&
	            s->xtc_threshold == 0.125f);
	assert_true(s->repeat == 1.5f && s->repeat_window == -1 && s->presence == -2 &&
	            s->frequency == -1);
	assert_true(s->dry_multiplier == 2 && s->dry_base == 3 && s->dry_allowed_length == 4 &&
	            s->dry_window == 9);
	assert_true(s->mirostat == 1 && s->mirostat_tau == 2 && s->mirostat_eta == 0.5f &&
	            s->min_keep == 6);
	assert_true(s->order[0] == INFER_STAGE_TEMP && s->order[1] == INFER_STAGE_TOP_K &&
	            !s->order[2]);
	assert_int_equal(s->n_bias, 2);
	assert_true(s->bias[0].token == 5 && s->bias[0].bias == -INFINITY &&
	            s->bias[1].bias == 1.5f);
	assert_int_equal(j->n_breaker_texts, 1);
	assert_true(s->n_dry_breakers > 0);
out:
	infer_job_free(j);
	return rc;
}

/* Encode a text; fails the test if the ids are not those of banned sequence i. */
static int same_sequence(const struct infer_sample_opts *o, int32_t i, const char *text,
                         infer_error *err)
{
	int32_t *ids;
	size_t n;
	int rc = infer_encode(infer_model_tokenizer(model), text, strlen(text), 0, &ids, &n, err);

	if (rc)
		return rc;
	assert_true(i < o->n_banned);
	assert_int_equal(o->n_banned_ids[i], n);
	assert_memory_equal(o->banned[i], ids, n * sizeof *ids);
	infer_ids_free(ids);
	return INFER_OK;
}

/* bad_words: each as it is, and after a space; white space before it is not read. */
static int case_bad_words(void)
{
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(read_line(&j,
	                 "{\"prompt\":\"x\",\"bad_words\":[\"the\",\"\\u3000\\t the\",\"zqzq\"]}",
	                 &err));
	assert_string_equal(j->fault.error.message, "");
	assert_int_equal(j->n_bad_words, 3);
	assert_memory_equal(j->bad_words[2].at, "zqzq", 4);
	const struct infer_sample_opts *s = &j->request.sample;

	/* in this vocabulary "the" is three tokens, " the" is one */
	assert_int_equal(s->n_banned, 6);
	for (int32_t i = 0; i < 4; i += 2) {
		nth_ok(same_sequence(s, i, "the", &err));
		nth_ok(same_sequence(s, i + 1, " the", &err));
	}
	nth_ok(same_sequence(s, 4, "zqzq", &err));
	nth_ok(same_sequence(s, 5, " zqzq", &err));
	assert_int_equal(s->n_banned_ids[0], 3);
	assert_int_equal(s->n_banned_ids[1], 1);
out:
	infer_job_free(j);
	return rc;
}

/* As many words as are allowed, each as long as is allowed, and one more of each */
static void test_many_bad_words(void **state)
{
	static char line[1 << 20], word[1100];
	infer_error err;
	infer_job *j;

	(void)state;
	for (int extra = 0; extra < 2; extra++) {
		size_t n = (size_t)snprintf(line, sizeof line, "{\"prompt\":\"x\",\"bad_words\":[");

		for (int i = 0; i < 1024 + extra; i++)
			n += (size_t)snprintf(line + n, sizeof line - n, "%s\"a%d\"", i ? "," : "",
			                      i);
		snprintf(line + n, sizeof line - n, "]}");
		assert_int_equal(read_line(&j, line, &err), 0);
		assert_int_equal(j->fault.error.code, extra ? INFER_EINVAL : 0);
		infer_job_free(j);
		memset(word, 'a', sizeof word);
		word[1024 + extra] = 0;
		snprintf(line, sizeof line, "{\"prompt\":\"x\",\"bad_words\":[\"%s\"]}", word);
		assert_int_equal(read_line(&j, line, &err), 0);
		assert_int_equal(j->fault.error.code, extra ? INFER_EINVAL : 0);
		infer_job_free(j);
	}
}

static int case_off(void)
{
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(read_line(
		&j,
		"{\"prompt\":\"a\",\"repeat_penalty\":2,\"presence_penalty\":1,\"repeat_last_n\":0,"
		"\"dry_multiplier\":1,\"dry_penalty_last_n\":0,\"top_n_sigma\":-1,\"typical_p\":1}",
		&err));
	assert_string_equal(j->fault.error.message, "");
	assert_true(j->request.sample.repeat == 1 && j->request.sample.presence == 0);
	assert_true(j->request.sample.dry_multiplier == 0 && !j->request.sample.n_dry_breakers);
	assert_true(j->request.sample.top_n_sigma == 0 && j->request.sample.typical == 1);
out:
	infer_job_free(j);
	return rc;
}

static const struct bad bad[] = {
	{ "", INFER_EFORMAT, NULL, "request" },
	{ "{\"prompt\":\"x\"", INFER_EFORMAT, NULL, "request: column 14: " },
	{ "[]", INFER_EFORMAT, NULL, "must be a JSON object" },
	{ "{\"prompt\":\"x\",\"prompt\":\"y\"}", INFER_EFORMAT, NULL, "duplicate" },
	{ "{\"id\":5.0,\"prompt\":\"x\"}", INFER_EINVAL, "id", "must be a string or" },
	{ "{\"id\":18446744073709551616,\"prompt\":\"x\"}", INFER_EINVAL, "id",
	  "must be a string or" },
	{ "{\"custom_id\":5}", INFER_EINVAL, "custom_id", "must be a string" },
	{ "{\"id\":\"\",\"prompt\":\"x\"}", INFER_EINVAL, "id", "empty" },
	{ "{}", INFER_EINVAL, "prompt", "prompt or messages" },
	{ "{\"prompt\":\"x\",\"extra\":null}", INFER_EINVAL, "extra", "'extra'" },
	{ "{\"prompt\":7}", INFER_EINVAL, "prompt", "must be a string or" },
	{ "{\"prompt\":[\"a\",\"b\"]}", INFER_EUNSUP, "prompt", "one prompt" },
	{ "{\"prompt\":[1,\"b\"]}", INFER_EINVAL, "prompt", "not a token id" },
	{ "{\"prompt\":[-1]}", INFER_EINVAL, "prompt", "-1" },
	{ "{\"prompt\":\"x\",\"max_tokens\":-2}", INFER_EINVAL, "max_tokens", "from -1" },
	{ "{\"prompt\":\"x\",\"max_tokens\":1.5}", INFER_EINVAL, "max_tokens",
	  "must be an integer" },
	{ "{\"prompt\":\"x\",\"n\":0}", INFER_EINVAL, "n", "from 1 to 128" },
	{ "{\"prompt\":\"x\",\"n\":129}", INFER_EINVAL, "n", "from 1 to 128" },
	{ "{\"prompt\":\"x\",\"logprobs\":129}", INFER_EINVAL, "logprobs", "from 0 to 128" },
	{ "{\"prompt\":\"x\",\"stop\":\"\"}", INFER_EINVAL, "stop", "empty" },
	{ "{\"prompt\":\"x\",\"stop\":[\"a\",7]}", INFER_EINVAL, "stop", "must be" },
	{ "{\"prompt\":\"x\",\"raw\":1}", INFER_EINVAL, "raw", "must be true or false" },
	{ "{\"prompt\":\"x\",\"seed\":\"1\"}", INFER_EINVAL, "seed", "must be an integer" },
	{ "{\"prompt\":\"x\",\"temperature\":-0.1}", INFER_EINVAL, "temperature", "from 0" },
	{ "{\"prompt\":\"x\",\"top_p\":0}", INFER_EINVAL, "top_p", "above 0" },
	{ "{\"prompt\":\"x\",\"top_k\":-2}", INFER_EINVAL, "top_k", "from -1" },
	{ "{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/"
	  "completions\",\"body\":{\"prompt\":\"x\","
	  "\"presence_penalty\":-3}}",
	  INFER_EINVAL, "presence_penalty", "from -2 to 2" },
	{ "{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{"
	  "\"temperature\":2.5}}",
	  INFER_EINVAL, "temperature", "from 0 to 2" },
	{ "{\"prompt\":\"x\",\"mirostat\":3}", INFER_EINVAL, "mirostat", "from 0 to 2" },
	{ "{\"prompt\":\"x\",\"presence_penalty\":100.5}", INFER_EINVAL, "presence_penalty",
	  "from -100 to 100" },
	{ "{\"prompt\":\"x\",\"samplers\":[]}", INFER_EINVAL, "samplers", "must be a list" },
	{ "{\"prompt\":\"x\",\"samplers\":[\"top_k\",\"top-k\"]}", INFER_EINVAL, "samplers",
	  "twice" },
	{ "{\"prompt\":\"x\",\"logit_bias\":{\"x\":1}}", INFER_EINVAL, "logit_bias", "'x'" },
	{ "{\"prompt\":\"x\",\"logit_bias\":{\"99999\":1}}", INFER_EINVAL, "logit_bias",
	  "outside" },
	{ "{\"prompt\":\"x\",\"logit_bias\":[[1]]}", INFER_EINVAL, "logit_bias", "entry 0" },
	{ "{\"prompt\":\"x\",\"logit_bias\":[[1,101]]}", INFER_EINVAL, "logit_bias", "from -100" },
	{ "{\"prompt\":\"x\",\"bad_words\":\"x\"}", INFER_EINVAL, "bad_words", "must be a list" },
	{ "{\"prompt\":\"x\",\"bad_words\":[7]}", INFER_EINVAL, "bad_words", "entry 0" },
	{ "{\"prompt\":\"x\",\"bad_words\":[\"x\",\"\"]}", INFER_EINVAL, "bad_words", "entry 1" },
	{ "{\"prompt\":\"x\",\"bad_words\":[\" \\n\\u00a0\"]}", INFER_EINVAL, "bad_words",
	  "entry 0: it has no tokens" },
	{ "{\"prompt\":\"x\",\"dry_sequence_breakers\":{}}", INFER_EINVAL, "dry_sequence_breakers",
	  "must be a list" },
	{ "{\"prompt\":\"x\",\"messages\":[]}", INFER_EINVAL, "messages", "exclude" },
	{ "{\"messages\":[{\"role\":\"user\"}]}", INFER_EUNSUP, "messages", "no chat template" },
	{ "{\"messages\":\"x\"}", INFER_EINVAL, "messages", "must be an array" },
	{ "{\"prompt\":\"x\",\"tools\":[{}]}", INFER_EINVAL, "tools", "entry 0" },
	{ "{\"prompt\":\"x\",\"tools\":[{\"function\":{\"name\":\"f\"}}]}", INFER_EINVAL, "tools",
	  "needs a conversation" },
	{ "{\"prompt\":\"x\",\"tools\":{}}", INFER_EINVAL, "tools", "must be an array" },
	{ "{\"prompt\":\"x\",\"template_args\":{}}", INFER_EINVAL, "template_args",
	  "needs a conversation" },
	{ "{\"prompt\":\"x\",\"template_args\":[]}", INFER_EINVAL, "template_args",
	  "must be an object" },
	{ "{\"prompt\":\"x\",\"think\":true}", INFER_EINVAL, "think", "needs a conversation" },
	{ "{\"prompt\":\"x\",\"think\":1}", INFER_EINVAL, "think", "must be true or false" },
	{ "{\"prompt\":\"x\",\"chat_template_kwargs\":{}}", INFER_EINVAL, "chat_template_kwargs",
	  "not a field" },
	{ "{\"prompt\":\"x\",\"min_tokens\":2,\"max_tokens\":1}", INFER_EINVAL, "min_tokens",
	  "above max_tokens" },
	{ "{\"prompt\":\"x\",\"min_tokens\":-1}", INFER_EINVAL, "min_tokens", "from 0" },
	{ "{\"prompt\":\"x\",\"model\":\"m\"}", INFER_EINVAL, "model",
	  "neither the model nor an adapter" },
	{ "{\"custom_id\":\"r\",\"method\":\"GET\"}", INFER_EINVAL, "method", "POST" },
	{ "{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/x\"}", INFER_EUNSUP, "url",
	  "'/v1/x'" },
	{ "{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/completions\"}", INFER_EINVAL,
	  "body", "object" },
	{ "{\"custom_id\":\"r\",\"prompt\":\"x\"}", INFER_EINVAL, "prompt", "not a field" },
	{ "{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/"
	  "completions\",\"body\":{\"prompt\":\"x\",\"stream\":true}}",
	  INFER_EUNSUP, "stream", "not supported" },
};

static void test_bad(void **state)
{
	struct nth n = { case_bad };
	void *at = &n;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		bad_now = &bad[i];
		nth_run(&at);
	}
}

static const struct {
	const char *line, *id;
	int whole;
} case_ids_rows[] = {
	{ "{\"id\":5,\"prompt\":\"x\"}", "5", 1 },
	{ "{\"id\":-9223372036854775808,\"prompt\":\"x\"}", "-9223372036854775808", 1 },
	{ "{\"id\":18446744073709551615,\"prompt\":\"x\"}", "18446744073709551615", 1 },
	{ "{\"id\":\"5\",\"prompt\":\"x\"}", "5", 0 },
	{ "{\"id\":null,\"prompt\":\"x\"}", "7", 0 },
	{ "{\"id\":3,\"prompt\":5}", "3", 1 },
	{ "{\"prompt\":5}", "7", 0 },
	{ "{\"id\":3", NULL, 0 },
	{ "[3]", NULL, 0 },
	{ "{\"id\":[]}", NULL, 0 },
	{ "{\"id\":\"\"}", NULL, 0 },
	{ "{\"custom_id\":4}", NULL, 0 },
};

/* A whole number of 64 bits; what cannot be read has no id, and takes none. */
static int case_ids(void)
{
	infer_job *j = NULL;
	infer_error err;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof case_ids_rows / sizeof *case_ids_rows; i++) {
		nth_ok(read_line(&j, case_ids_rows[i].line, &err));
		if (!j->id != !case_ids_rows[i].id ||
		    (j->id && strcmp(j->id, case_ids_rows[i].id)) ||
		    j->id_whole != case_ids_rows[i].whole)
			fail_msg("%s has the id %s", case_ids_rows[i].line,
			         j->id ? j->id : "(none)");
		infer_job_free(j);
		j = NULL;
	}
out:
	infer_job_free(j);
	return rc;
}

static int case_others(void)
{
	infer_job *j = NULL, *k = NULL, *l = NULL;
	infer_error err, why = { INFER_EINVAL, "too long" };
	int rc;

	nth_ok(read_line(&j, "{\"kind\":\"plan\",\"id\":5}", &err));
	assert_true(j->is_other && !j->fault.error.code);
	nth_ok(read_line(
		&k,
		"{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":"
		"{\"prompt\":\"x\",\"model\":\"m\",\"echo\":false,\"best_of\":1,\"user\":\"u\"}}",
		&err));
	assert_string_equal(k->fault.error.message, "");
	assert_string_equal(infer_api_name(k->api), "text");
	assert_string_equal(k->id, "r");
	assert_int_equal(k->request.max_tokens, 16);
	nth_ok(infer_line_bad(&l, 9, 0, &why, &err));
	assert_null(l->id);
	assert_string_equal(l->fault.error.message, "too long");
out:
	infer_job_free(j);
	infer_job_free(k);
	infer_job_free(l);
	return rc;
}

/* A reader finds in the model and the templates what requests need, once. */
static int case_reader(void)
{
	static const struct infer_str none = { "", 0 };
	struct infer_job_opts o = opts;
	infer_job_reader *r = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_job_reader_new(&r, &o, &err));
	assert_non_null(r->breakers);
	assert_int_equal(r->special, 0);
	infer_job_reader_free(r);
	r = NULL;
	o.breaker_texts = &none;
	nth_fails(infer_job_reader_new(&r, &o, &err), INFER_EINVAL);
	assert_null(r);
out:
	infer_job_reader_free(r);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_plain),
		nth_case(case_fields),
		nth_case(case_off),
		nth_case(case_bad_words),
		cmocka_unit_test(test_many_bad_words),
		cmocka_unit_test(test_bad),
		nth_case(case_ids),
		nth_case(case_others),
		nth_case(case_reader),
	};
	int failed;

	(void)argc;
	if (request_init(argv[0], "request"))
		return 1;
	failed = nth_group(tests);
	request_end();
	return failed;
}
