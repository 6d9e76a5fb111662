/* tests/unit/api/test_request_chat.c - request lines with conversations: messages, tools and options
 * of templates. */
#include "request.h"

/* The template of these tests: words in brackets, each with one control token after it. */
static const char template_src[] =
	"{% for t in tools or [] %}#{{ t.function.name }}{% endfor %}{% for m in messages %}[{{ "
	"m.role }} {{ m.content }}]"
	"{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments.a }}{% "
	"endfor %}{% endfor %}"
	"{{ enable_thinking|default('') }}{{ more|default('') }}{{ '>' if add_generation_prompt }}";
static const char plain_src[] = "{% for m in messages %}[{{ m.role }} {{ m.content }}]{% endfor %}";
static infer_chat *tools_chat, *plain_chat;

#define CHAT_LINE(body) \
	"{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/chat/" \
	"completions\",\"body\":{" body "}}"
#define USER "\"messages\":[{\"role\":\"user\",\"content\":\"the of\"}]"
#define TOOL "[{\"type\":\"function\",\"function\":{\"name\":\"look\",\"parameters\":{}}}]"
static const struct conversation_row {
	const char *line, *want;
	int both, raw;
} conversations[] = {
	{ "{\"prompt\":\"the of\"}", "[user the of]>", 0, 0 },
	{ "{\"prompt\":\"the of\",\"raw\":false}", "[user the of]>", 0, 1 },
	{ "{\"prompt\":\"the of\",\"raw\":true}", "the of", 0, 0 },
	{ "{\"prompt\":\"the of\"}", "the of", 0, 1 },
	{ "{" USER "}", "[user the of]>", 0, 1 },
	{ "{" USER ",\"tools\":" TOOL ",\"think\":false,\"template_args\":{\"more\":1.5}}",
	  "#look[user the of]False1.5>", 0, 0 },
	{ "{" USER ",\"tools\":" TOOL "}", "#look[user the of]>", 1, 0 },
	{ "{" USER ",\"tools\":[]}", "[user the of]", 1, 0 },
	{ "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},{"
	  "\"role\":\"assistant\",\"content\":\"b\"}]}",
	  "[user a][assistant b", 0, 0 },
	{ CHAT_LINE(USER ",\"tools\":" TOOL ",\"tool_choice\":\"none\",\"parallel_tool_calls\":"
	                 "true,\"chat_template_kwargs\":{\"more\":\"x\"}"),
	  "[user the of]x>", 0, 0 },
	{ CHAT_LINE(USER ",\"tools\":" TOOL
	                 ",\"tool_choice\":\"auto\",\"model\":\"m\",\"stream\":false"),
	  "#look[user the of]>", 0, 0 },
};

static void set_templates(int both, int raw)
{
	opts.chat = both ? plain_chat : tools_chat;
	opts.chat_tools = both ? tools_chat : NULL;
	opts.conversation = (struct infer_conversation){ .flags = INFER_CHAT_CONTINUE };
	opts.raw = raw;
}

static const struct conversation_row *row_now;
static int case_conversation(void)
{
	infer_job *j = NULL;
	infer_error err;
	int32_t *ids = NULL;
	size_t n;
	int rc;

	set_templates(row_now->both, row_now->raw);
	nth_ok(read_line(&j, row_now->line, &err));
	if (j->fault.error.code)
		fail_msg("%s: %s", row_now->line, j->fault.error.message);
	nth_ok(infer_encode(infer_model_tokenizer(model), row_now->want, strlen(row_now->want), 0,
	                    &ids, &n, &err));
	assert_int_equal(j->request.n_prompt, n);
	assert_memory_equal(j->request.prompt, ids, n * sizeof *ids);
	assert_true((j->chat != NULL) == (*row_now->want != 't'));
	if (j->chat) { /* what the reader of the answer needs */
		assert_int_equal(j->reply.prompt_n, strlen(row_now->want));
		assert_memory_equal(j->reply.prompt, row_now->want, j->reply.prompt_n);
		assert_true((j->reply.tools != NULL) == (*row_now->want == '#'));
	}
out:
	opts.chat = opts.chat_tools = NULL;
	opts.raw = 0;
	infer_ids_free(ids);
	infer_job_free(j);
	return rc;
}

static void test_conversations(void **state)
{
	struct nth n = { case_conversation };
	void *at = &n;

	(void)state;
	for (size_t i = 0; i < sizeof conversations / sizeof *conversations; i++) {
		row_now = &conversations[i];
		nth_run(&at);
	}
}

static const struct bad bad_conversations[] = {
	{ "{\"messages\":[]}", INFER_EFORMAT, "messages", "nothing in it" },
	{ "{\"messages\":[{\"role\":\"user\"},7]}", INFER_EFORMAT, "messages", "messages[1]" },
	{ "{" USER ",\"raw\":true}", INFER_EINVAL, "messages", "exclude" },
	{ "{" USER ",\"tools\":[7]}", INFER_EINVAL, "tools", "entry 0" },
	{ "{\"prompt\":[1],\"think\":true}", INFER_EINVAL, "think", "needs a" },
	{ "{" USER ",\"top_logprobs\":2}", INFER_EINVAL, "top_logprobs", "not a field" },
	{ CHAT_LINE("\"prompt\":\"x\""), INFER_EINVAL, "prompt", "not a field" },
	{ CHAT_LINE("\"max_tokens\":1"), INFER_EINVAL, "messages", "messages" },
	{ CHAT_LINE(USER ",\"top_logprobs\":2"), INFER_EINVAL, "top_logprobs", "needs logprobs" },
	{ CHAT_LINE(USER ",\"logprobs\":2"), INFER_EINVAL, "logprobs", "must be true or false" },
	{ CHAT_LINE(USER ",\"tool_choice\":\"required\""), INFER_EINVAL, "tool_choice",
	  "there are no tools" },
	{ CHAT_LINE(USER ",\"tool_choice\":{}"), INFER_EINVAL, "tool_choice", "must be none" },
	{ CHAT_LINE(USER ",\"tool_choice\":\"f\""), INFER_EINVAL, "tool_choice", "must be none" },
	{ CHAT_LINE(USER ",\"tools\":" TOOL ",\"tool_choice\":{\"type\":\"function\","
	                 "\"function\":{\"name\":\"g\"}}"),
	  INFER_EINVAL, "tool_choice", "there is no tool g" },
	/* the template's calls are in no form that is known */
	{ CHAT_LINE(USER ",\"tools\":" TOOL ",\"tool_choice\":\"required\""), INFER_EEMPTY,
	  "tool_choice", "a call cannot be required" },
	{ CHAT_LINE(USER ",\"parallel_tool_calls\":0"), INFER_EINVAL, "parallel_tool_calls",
	  "must be true or false" },
	{ CHAT_LINE(USER ",\"reasoning_effort\":\"lots\""), INFER_EINVAL, "reasoning_effort",
	  "must be none" },
};

static int case_bad_conversation(void)
{
	set_templates(0, 0);
	int rc = case_bad();

	opts.chat = NULL;
	return rc;
}

static void test_bad_conversations(void **state)
{
	struct nth n = { case_bad_conversation };
	void *at = &n;

	(void)state;
	for (size_t i = 0; i < sizeof bad_conversations / sizeof *bad_conversations; i++) {
		bad_now = &bad_conversations[i];
		nth_run(&at);
	}
}

/* A prompt longer than a template may write is an error of this request alone. */
static void test_too_long(void **state)
{
	enum { N = 20 << 20 };
	static const char head[] = "{\"prompt\":\"", tail[] = "\"}";
	static char line[sizeof head + N + sizeof tail];
	infer_job *j = NULL;
	infer_error err;

	(void)state;
	strcpy(line, head);
	memset(line + strlen(head), 'a', N);
	strcpy(line + strlen(head) + N, tail);
	set_templates(0, 0);
	assert_int_equal(read_line(&j, line, &err), INFER_OK);
	assert_int_equal(j->fault.error.code, INFER_ENOMEM);
	assert_non_null(strstr(j->fault.error.message, "bytes"));
	opts.chat = NULL;
	infer_job_free(j);
}

static const char some_tools[] = TOOL,
		  line_developer[] = "{\"messages\":[{\"role\":\"developer\",\"content\":\"D\"},{"
				     "\"role\":\"user\",\"content\":\"U\"}]}",
		  some_args[] = "{\"more\":\"M\"}";
static const char *const option_wants[] = {
	"#look[system S][user the of]True>", "#look[developer D][user U]True>",
	"[system S][user the of]FalseM>",    "[system S][user the of]FalseM>",
	"[system S][user the of]Truex>",     "[system S][user the of]FalseM>",
	"[system S][user the of]NoneM>"
};
static const char *const option_lines[] = {
	"{" USER "}",
	line_developer,
	"{" USER ",\"tools\":[],\"think\":false}",
	"{" USER ",\"tools\":[],\"template_args\":{\"enable_thinking\":false}}",
	/* the request's values win, the other defaults stay */
	"{" USER ",\"tools\":[],\"template_args\":{\"more\":\"x\"}}",
	CHAT_LINE(USER ",\"tools\":[],\"chat_template_kwargs\":{\"thinking\":false}"),
	CHAT_LINE(USER ",\"tools\":[],\"chat_template_kwargs\":{\"enable_thinking\":null}"),
};

/* Options apply where a request says nothing; what a template does not support is refused under the
 * name of its field. */
static int case_conversation_options(void)
{
	infer_tools *read = NULL;
	infer_job *j = NULL;
	infer_error err;
	int32_t *ids = NULL;
	size_t n;
	int rc;

	set_templates(0, 0);
	opts.conversation.system = "S";
	opts.conversation.system_n = 1;
	nth_ok(infer_tools_read(&read, some_tools, sizeof some_tools - 1, &err));
	opts.conversation.tools = read;
	opts.conversation.think = INFER_THINK_ON;
	for (size_t i = 0; i < sizeof option_lines / sizeof *option_lines; i++) {
		opts.conversation.args = i < 2 ? NULL : some_args;
		opts.conversation.args_n = i < 2 ? 0 : sizeof some_args - 1;
		nth_ok(read_line(&j, option_lines[i], &err));
		assert_string_equal(j->fault.error.message, "");
		nth_ok(infer_encode(infer_model_tokenizer(model), option_wants[i],
		                    strlen(option_wants[i]), 0, &ids, &n, &err));
		assert_int_equal(j->request.n_prompt, n);
		assert_memory_equal(j->request.prompt, ids, n * sizeof *ids);
		infer_ids_free(ids);
		infer_job_free(j);
		j = NULL;
		ids = NULL;
	}
	opts.chat = plain_chat;
	nth_ok(read_line(&j, "{" USER "}", &err));
	assert_int_equal(j->fault.error.code, INFER_EUNSUP);
	assert_string_equal(j->fault.param, "tools");
	infer_job_free(j);
	nth_ok(read_line(&j, "{" USER ",\"tools\":[]}", &err));
	assert_string_equal(j->fault.param, "think");
	infer_job_free(j);
	nth_ok(read_line(
		&j,
		CHAT_LINE(USER ",\"logprobs\":true,\"top_logprobs\":3,\"max_completion_tokens\":9"),
		&err));
	assert_string_equal(j->fault.param, "tools");
	assert_string_equal(infer_api_name(j->api), "chat");
	assert_int_equal(j->request.max_tokens, 9);
out:
	opts.chat = NULL;
	infer_tools_free(read);
	opts.conversation = (struct infer_conversation){ 0 };
	infer_ids_free(ids);
	infer_job_free(j);
	return rc;
}

static const struct {
	const char *line;
	int logprobs;
} case_chat_logprobs_rows[] = {
	{ CHAT_LINE(USER), -1 },
	{ CHAT_LINE(USER ",\"logprobs\":false"), -1 },
	{ CHAT_LINE(USER ",\"logprobs\":true"), 0 },
	{ CHAT_LINE(USER ",\"top_logprobs\":3,\"logprobs\":true"), 3 },
};

static int case_chat_logprobs(void)
{
	infer_job *j = NULL;
	infer_error err;
	int rc = 0;

	set_templates(0, 0);
	for (size_t i = 0; i < sizeof case_chat_logprobs_rows / sizeof *case_chat_logprobs_rows;
	     i++) {
		nth_ok(read_line(&j, case_chat_logprobs_rows[i].line, &err));
		assert_string_equal(j->fault.error.message, "");
		assert_int_equal(j->logprobs, case_chat_logprobs_rows[i].logprobs);
		assert_int_equal(j->request.top, case_chat_logprobs_rows[i].logprobs > 0
		                                         ? case_chat_logprobs_rows[i].logprobs
		                                         : 0);
		assert_int_equal(j->request.max_tokens, 33);
		infer_job_free(j);
		j = NULL;
	}
out:
	opts.chat = NULL;
	infer_job_free(j);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversations), cmocka_unit_test(test_bad_conversations),
		cmocka_unit_test(test_too_long),      nth_case(case_conversation_options),
		nth_case(case_chat_logprobs),
	};
	infer_error err;
	int failed;

	(void)argc;
	if (request_init(argv[0], "request_chat"))
		return 1;
	if (infer_chat_open(&tools_chat, template_src, sizeof template_src - 1, "talk", &err) ||
	    infer_chat_open(&plain_chat, plain_src, sizeof plain_src - 1, "plain", &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = nth_group(tests);
	infer_chat_close(&tools_chat);
	infer_chat_close(&plain_chat);
	request_end();
	return failed;
}
