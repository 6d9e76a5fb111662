/* tests/unit/api/test_types.c - a field of a request whose value has another type than its interface
 * says is refused, and the fault names it.  The fields are those of the forms' tables; the types are
 * those that the documentation of the interfaces gives, so a field that comes to a table must come
 * here, too. */
#include "request.h"

#include <infer/param.h>
#include "api/api.h"

/* The kinds of values that each may have: bool, number, string, array, object. */
static const struct {
	const char *key, *kinds;
} types[] = {
	/* of one form alone, before those of all */
	{ "bad_words", "a" },
	{ "text.logprobs", "n" },
	{ "infill.prompt", "s" },
	{ "messages.tool_choice", "o" },
	{ "add_generation_prompt", "b" },
	{ "add_special_tokens", "b" },
	{ "allowed_token_ids", "a" },
	{ "best_of", "n" },
	{ "cache_control", "o" },
	{ "cache_prompt", "b" },
	{ "cache_salt", "s" },
	{ "chat_template_kwargs", "o" },
	{ "choice", "a" },
	{ "constraint_budget", "n" },
	{ "container", "bnsao" }, /* ignored, whatever it is */
	{ "continue_final_message", "b" },
	{ "conversation", "" },
	{ "dry_sequence_breakers", "a" },
	{ "ebnf", "s" },
	{ "echo", "b" },
	{ "format_annotation", "b" },
	{ "grammar", "s" },
	{ "guided_choice", "a" },
	{ "guided_grammar", "s" },
	{ "guided_json", "bso" },
	{ "guided_regex", "s" },
	{ "id_slot", "n" },
	{ "ignore_eos", "b" },
	{ "include", "a" },
	{ "include_stop_str_in_output", "b" },
	{ "input", "sa" },
	{ "input_extra", "a" },
	{ "input_prefix", "s" },
	{ "input_suffix", "s" },
	{ "instructions", "s" },
	{ "json_object", "bo" },
	{ "json_schema", "bso" },
	{ "lax_schema", "b" },
	{ "logit_bias", "ao" },
	{ "logprobs", "b" },
	{ "lora", "a" },
	{ "max_completion_tokens", "n" },
	{ "max_output_tokens", "n" },
	{ "max_tokens", "n" },
	{ "messages", "a" },
	{ "metadata", "o" },
	{ "min_tokens", "n" },
	{ "modalities", "a" },
	{ "model", "s" },
	{ "n", "n" },
	{ "n_discard", "n" },
	{ "n_keep", "n" },
	{ "n_predict", "n" },
	{ "n_probs", "n" },
	{ "output_config", "o" },
	{ "output_format", "o" },
	{ "parallel_tool_calls", "b" },
	{ "post_sampling_probs", "b" },
	{ "prediction", "o" },
	{ "previous_response_id", "" },
	{ "priority", "n" },
	{ "prompt", "sa" },
	{ "prompt_cache_key", "s" },
	{ "prompt_logprobs", "n" },
	{ "reasoning", "o" },
	{ "reasoning_budget_tokens", "n" },
	{ "reasoning_effort", "s" },
	{ "reasoning_format", "s" },
	{ "regex", "s" },
	{ "repetition_penalty", "n" },
	{ "response_fields", "a" },
	{ "response_format", "o" },
	{ "return_progress", "b" },
	{ "return_token_ids", "b" },
	{ "return_tokens", "b" },
	{ "return_tokens_as_token_ids", "b" },
	{ "safety_identifier", "s" },
	{ "samplers", "sa" },
	{ "schema_order", "b" },
	{ "seed", "n" },
	{ "service_tier", "s" },
	{ "skip_special_tokens", "b" },
	{ "stop", "sa" },
	{ "stop_sequences", "a" },
	{ "stop_token_ids", "a" },
	{ "store", "b" },
	{ "stream", "b" },
	{ "stream_options", "o" },
	{ "strict_formats", "b" },
	{ "structured_outputs", "o" },
	{ "suffix", "s" },
	{ "system", "sa" },
	{ "temperature", "n" },
	{ "text", "o" },
	{ "thinking", "o" },
	{ "thinking_budget_tokens", "n" },
	{ "thinking_token_budget", "n" },
	{ "timeout", "n" },
	{ "timings_per_token", "b" },
	{ "tool_choice", "so" },
	{ "tools", "a" },
	{ "top_logprobs", "n" },
	{ "truncate_prompt_tokens", "n" },
	{ "truncation", "s" },
	{ "truncation_side", "s" },
	{ "user", "s" },
	{ "web_search_options", "o" },
};
static const struct {
	char kind;
	const char *value;
} values[] = { { 'b', "true" },
	       { 'n', "7.5" },
	       { 's', "\"zzz\"" },
	       { 'a', "[[{}]]" },
	       { 'o', "{\"zzz\":[1]}" } };
enum { TYPES = sizeof types / sizeof *types, VALUES = sizeof values / sizeof *values };
static int used[TYPES], tried, refused;

static const char *kinds_of(const char *form, const char *key)
{
	char both[128];

	snprintf(both, sizeof both, "%s.%s", form, key);
	for (int i = 0; i < TYPES; i++)
		if (!strcmp(types[i].key, both) || !strcmp(types[i].key, key)) {
			used[i] = 1;
			return types[i].kinds;
		}
	return NULL;
}

/* kinds: those that may be right */
static void try_field(const struct infer_api *f, const char *key, const char *kinds)
{
	char body[256];
	infer_error err;
	infer_job *j;

	if (!kinds)
		fail_msg("%s: %s: the table of this test has no types for it", f->name, key);
	for (int i = 0; i < VALUES; i++) {
		const struct infer_fault *w;

		if (strchr(kinds, values[i].kind))
			continue;
		snprintf(body, sizeof body, "{\"%s\":%s}", key, values[i].value);
		assert_int_equal(infer_job_read(&j, &reader, f, 0, "x", body, strlen(body), &err),
		                 0);
		w = &j->fault;
		if (infer_fault_status(w->kind) != 400 || !w->param || strcmp(w->param, key) ||
		    !*w->error.message)
			fail_msg("%s: %s: %d, param %s, '%s'", f->name, body,
			         infer_fault_status(w->kind), w->param ? w->param : "null",
			         w->error.message);
		refused++;
		infer_job_free(j);
	}
	tried++;
}

static void try_list(const struct infer_api *f, const struct job_field *list,
                     const struct job_field *before)
{
	for (; list->key; list++) {
		const struct job_field *b = before;

		while (b && b->key && strcmp(b->key, list->key))
			b++;
		if (!b || !b->key)
			try_field(f, list->key, kinds_of(f->name, list->key));
	}
}

static void test_types(void **state)
{
	static const struct infer_api *const forms[] = { &api_chat,      &api_text,   &api_messages,
		                                         &api_responses, &api_native, &api_infill };
	const struct infer_sample_param *p;

	(void)state;
	reader.o = opts;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const struct infer_api *f = forms[i];
		const struct job_field *own = f->fields->known;

		try_list(f, own, NULL);
		try_list(f, job_common, own);
		try_list(f, job_constraints, own);
		try_list(f, job_streamed, own);
		if (f->fields->has_extras)
			try_list(f, job_extras(), own);
		try_list(f, job_sampling_others, own);
		for (int k = 0; (p = infer_sample_param(k)); k++)
			try_field(f, p->name, "n");
	}
	for (int i = 0; i < TYPES; i++)
		if (!used[i])
			fail_msg("%s: no form has such a field", types[i].key);
	assert_true(tried > 300 && refused > 1000);
}

/* Fields that are known and not supported: any value but the one that asks for nothing. */
static void test_refused(void **state)
{
	static const char *const any[] = { "\"zzz\"", "[[{}]]", "{\"zzz\":[1]}", "7.5" };
	const struct job_refused *lists[3] = { NULL, job_refused_common, job_refused_extras() };
	char body[256];
	infer_error err;
	infer_job *j;

	(void)state;
	reader.o = opts;
	reader.o.reads = INFER_JOB_LENIENT;
	lists[0] = api_chat.fields->refused;
	for (int l = 0; l < 3; l++)
		for (const struct job_refused *r = lists[l]; r->key; r++)
			for (int i = 0; i < 4; i++) {
				snprintf(body, sizeof body, "{\"%s\":%s}", r->key, any[i]);
				assert_int_equal(infer_job_read(&j, &reader, &api_chat, 0, "x",
				                                body, strlen(body), &err),
				                 0);
				if (infer_fault_status(j->fault.kind) != 400 || !j->fault.param ||
				    strcmp(j->fault.param, r->key) != 0)
					fail_msg("%s: %s", body, j->fault.error.message);
				infer_job_free(j);
			}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_refused),
	};
	int rc;

	(void)case_bad, (void)argc; /* case_bad: of other programs */
	if (request_init(argv[0], "types"))
		return 1;
	opts.reads = INFER_JOB_STREAM | INFER_JOB_LENIENT;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	request_end();
	return rc;
}
