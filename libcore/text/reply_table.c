/* text/reply_table.c - how models write calls of tools and reasoning, one row each, and which row a template follows. */
#include "text/reply.h"

#include <string.h>

/* The first row whose signs are there is taken, in what is written rather than in the source. */
static const struct reply_format formats[] = {
	{ .name = "harmony", .sign = { "<|channel|>", "<|message|>" }, .begun = "<|start|>assistant", .flags = RF_HARMONY },
	{ .name = "gemma", .sign = { "<|tool_call>call:" }, .head = { { "<|tool_call>call:" NAME PEEK "{", ARGS_GEMMA, 0 } },
	  .close = { "<tool_call|>", "<|tool_response>" } },
	{ .name = "dsml", .sign = { "<｜DSML｜", "invoke" },
	  .head = { { "<｜DSML｜function_calls>" WS "<｜DSML｜invoke name=\"" NAME "\">", ARGS_TAGS, 0 },
	            { "<｜DSML｜tool_calls>" WS "<｜DSML｜invoke name=\"" NAME "\">", ARGS_TAGS, 0 },
	            { "<｜DSML｜invoke name=\"" NAME "\">", ARGS_TAGS, 0 } },
	  .param = { "<｜DSML｜parameter name=\"" IDB ANY IDE "\" string=\"true\">",
	             "<｜DSML｜parameter name=\"" IDB ANY IDE "\" string=\"false\">" },
	  .param_end = "</｜DSML｜parameter>", .tags_end = "</｜DSML｜invoke>",
	  .close = { "</｜DSML｜function_calls>", "</｜DSML｜tool_calls>" } },
	{ .name = "deepseek", .sign = { "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>" },
	  .head = { { "<｜tool▁calls▁begin｜>" WS "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" NAME WS "```json" WS PEEK "{", ARGS_JSON, 0 },
	            { "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" NAME WS "```json" WS PEEK "{", ARGS_JSON, 0 },
	            { "<｜tool▁calls▁begin｜>" WS "<｜tool▁call▁begin｜>" NAME "<｜tool▁sep｜>" WS PEEK "{", ARGS_JSON, 0 },
	            { "<｜tool▁call▁begin｜>" NAME "<｜tool▁sep｜>" WS PEEK "{", ARGS_JSON, 0 } },
	  .close = { "```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>" } },
	{ .name = "kimi", .sign = { "<|tool_call_begin|>", "<|tool_call_argument_begin|>" },
	  .head = { { "<|tool_calls_section_begin|>" WS "<|tool_call_begin|>" WS IDB "functions." NAME ":" ANY IDE
	              "<|tool_call_argument_begin|>" WS PEEK "{", ARGS_JSON, 0 },
	            { "<|tool_call_begin|>" WS IDB "functions." NAME ":" ANY IDE "<|tool_call_argument_begin|>" WS PEEK "{", ARGS_JSON, 0 } },
	  .close = { "<|tool_call_end|>", "<|tool_calls_section_end|>" }, .flags = RF_ENDS },
	{ .name = "mistral", .sign = { "[TOOL_CALLS]" },
	  .head = { { "[TOOL_CALLS]" WS NAME "[CALL_ID]" IDB ANY IDE "[ARGS]" WS PEEK "{", ARGS_JSON, 0 },
	            { "[TOOL_CALLS]" WS NAME "[ARGS]" WS PEEK "{", ARGS_JSON, 0 },
	            { "[TOOL_CALLS]" WS NAME WS PEEK "{", ARGS_JSON, 0 },
	            { "[TOOL_CALLS]" WS, ARGS_ENVELOPE, 0 } } },
	{ .name = "glm", .sign = { "<arg_key>", "<arg_value>" }, .head = { { "<tool_call>" WS NAME WS PEEK "<", ARGS_TAGS, 0 } },
	  .param = { "<arg_key>" IDB ANY IDE "</arg_key>" WS "<arg_value>" }, .param_end = "</arg_value>", .tags_end = "</tool_call>" },
	{ .name = "minimax", .sign = { "<minimax:tool_call>" },
	  .head = { { "<minimax:tool_call>" WS "<invoke name=\"" NAME "\">", ARGS_TAGS, 0 }, { "<invoke name=\"" NAME "\">", ARGS_TAGS, 0 } },
	  .param = { "<parameter name=\"" IDB ANY IDE "\">" }, .param_end = "</parameter>", .tags_end = "</invoke>",
	  .close = { "</minimax:tool_call>" } },
	{ .name = "qwen3-coder", .sign = { "<function=", "<parameter=" },
	  .head = { { "<tool_call>" WS "<function=" NAME ">", ARGS_TAGS, 0 }, { "<seed:tool_call>" WS "<function=" NAME ">", ARGS_TAGS, 0 },
	            { "<function=" NAME ">", ARGS_TAGS, 0 } },
	  .param = { "<parameter=" IDB ANY IDE ">" }, .param_end = "</parameter>", .tags_end = "</function>",
	  .close = { "</tool_call>", "</seed:tool_call>" }, .flags = RF_NEWLINES },
	{ .name = "functionary-3.1", .sign = { "<function=", "</function>" },
	  .head = { { "<function=" NAME ">" WS PEEK "{", ARGS_JSON, 0 }, { "<|python_tag|>", ARGS_CODE, 0 } }, .close = { "</function>" } },
	{ .name = "functionary-3.2", .sign = { ">>>all" },
	  .head = { { ">>>" NAME "\n" WS PEEK "{", ARGS_JSON, 0 }, { ">>>python\n", ARGS_CODE, 0 } }, .drop = { ">>>all\n" }, .begun = ">>>" },
	{ .name = "mcp", .sign = { "<use_mcp_tool>" },
	  .head = { { "<use_mcp_tool>" WS "<server_name>" ANY "</server_name>" WS "<tool_name>" NAME "</tool_name>" WS "<arguments>" WS PEEK "{",
	              ARGS_JSON, 0 },
	            { "<server_name>" ANY "</server_name>" WS "<tool_name>" NAME "</tool_name>" WS "<arguments>" WS PEEK "{", ARGS_JSON, 0 } },
	  .close = { "</arguments>", "</use_mcp_tool>" } },
	{ .name = "command-r7b", .sign = { "<|START_ACTION|>" }, .head = { { "<|START_ACTION|>" WS, ARGS_ENVELOPE, 0 } },
	  .close = { "<|END_ACTION|>" }, .drop = { "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>" } },
	{ .name = "command-r", .sign = { "Action:", "```json" }, .head = { { "Action:" WS "```json" WS, ARGS_ENVELOPE, 0 } },
	  .close = { "```" }, .drop = { "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>" } },
	{ .name = "apertus", .sign = { "<|tools_prefix|>" }, .head = { { "<|tools_prefix|>" WS, ARGS_KEYED, 0 } },
	  .close = { "<|tools_suffix|>" }, .flags = RF_ENDS },
	{ .name = "granite", .sign = { "<|tool_call|>" }, .head = { { "<|tool_call|>" WS, ARGS_ENVELOPE, 0 } }, .close = { "<|/tool_call|>" },
	  .drop = { "<response>", "</response>" } },
	{ .name = "gigachat", .sign = { "<|function_call|>" }, .head = { { "<|function_call|>" WS, ARGS_ENVELOPE, 0 } },
	  .close = { "<|message_sep|>" } },
	{ .name = "gigachat-3", .sign = { "function call<|role_sep|>" },
	  .head = { { "<|message_sep|>" WS "function call<|role_sep|>" WS, ARGS_ENVELOPE, 0 } }, .close = { "<|message_sep|>" } },
	{ .name = "apriel", .sign = { "<tool_calls>[" }, .head = { { "<tool_calls>" WS, ARGS_ENVELOPE, 0 } }, .close = { "</tool_calls>" } },
	{ .name = "nemotron-2", .sign = { "<TOOLCALL>" }, .head = { { "<TOOLCALL>" WS, ARGS_ENVELOPE, 0 } }, .close = { "</TOOLCALL>" },
	  .drop = { "<SPECIAL_12>" } },
	{ .name = "firefunction", .sign = { "functools[" }, .head = { { "functools" WS PEEK "[", ARGS_ENVELOPE, 0 } } },
	{ .name = "lfm2", .sign = { "List of tools: " },
	  .head = { { "<|tool_call_start|>" WS "[" WS NAME PEEK "(", ARGS_PYTHON, 0 }, { "[" NAME PEEK "(", ARGS_PYTHON, 0 },
	            { "<|tool_call_start|>" WS, ARGS_ENVELOPE, 0 } }, .close = { "<|tool_call_end|>" } },
	{ .name = "hermes", .sign = { "<tool_call>" }, .head = { { "<tool_call>" WS, ARGS_ENVELOPE, 0 } }, .close = { "</tool_call>" } },
	{ .name = "llama", .sign = { "\"parameters\": " },
	  .head = { { PEEK "{", ARGS_ENVELOPE, 1 }, { "<|python_tag|>" WS PEEK "{", ARGS_ENVELOPE, 0 },
	            { "<|python_tag|>" WS NAME ".call" PEEK "(", ARGS_PYTHON, 0 }, { "<|python_tag|>", ARGS_CODE, 0 } }, .close = { ";" } },
	/* where a template says nothing of it: what most models were taught */
	{ .name = "any", .head = { { "<tool_call>" WS, ARGS_ENVELOPE, 0 }, { PEEK "{", ARGS_ENVELOPE, 1 } }, .close = { "</tool_call>" } },
};

static const struct reply_think thinks[] = {
	{ "<seed:think>", "</seed:think>", NULL, 0 },
	{ "[THINK]", "[/THINK]", NULL, 0 },
	{ "<|START_THINKING|>", "<|END_THINKING|>", NULL, 0 },
	{ "<|channel>thought", "<channel|>", "<|channel>", RT_AGAIN },
	{ "<|inner_prefix|>", "<|inner_suffix|>", NULL, RT_AGAIN },
	{ "Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]", NULL, RT_KEEP },
	{ "<think>", "</think>", NULL, 0 },
};

static int has(const char *s, size_t n, const char *what)
{
	return !what || (n && memmem(s, n, what, strlen(what)));
}

void reply_recognise(const char *turn, size_t turn_n, const char *source, size_t n, const struct reply_format **format,
                     const struct reply_think **think)
{
	enum { FORMATS = sizeof formats / sizeof *formats, THINKS = sizeof thinks / sizeof *thinks };
	size_t i, k;

	for (i = 0; i < FORMATS && !(formats[i].sign[0] && has(turn, turn_n, formats[i].sign[0]) && has(turn, turn_n, formats[i].sign[1])); i++)
		;
	if (i == FORMATS)
		for (i = 0; !(has(source, n, formats[i].sign[0]) && has(source, n, formats[i].sign[1])); i++)   /* the last has none */
			;
	for (k = 0; k < THINKS - 1 && !has(source, n, thinks[k].close); k++)
		;
	*format = &formats[i];
	*think = &thinks[k];
}
