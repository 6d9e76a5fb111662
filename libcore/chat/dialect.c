/* chat/dialect.c - the formats of tool calls and reasoning, one row each, and the row of a
 * template. */
#include "chat/dialect.h"

#include <string.h>

#define ENVELOPE "{\"name\": \"" DIALECT_NAME "\", \"arguments\": " DIALECT_ARGS "}"
#define HERMES \
	{ \
		.call = "<tool_call>\n" ENVELOPE "\n</tool_call>", .between = "\n" \
	}
#define LIST(begin, end) \
	{ \
		.open = begin "[", .call = ENVELOPE, .between = ", ", .close = "]" end \
	}

/* before each tag of MiniMax-M3 */
#define M3 "]<]minimax[>["
#define K3_CALL "<|open|>call tool=\"" DIALECT_NAME "\"" DIALECT_ANY "<|sep|>"
#define K3_PARAM "<|open|>argument key=\"" DIALECT_IDB DIALECT_ANY DIALECT_IDE "\" type=\""

static const struct dialect_messages harmony = {
	.start = "<|start|>assistant",
	.channels = 1,
	.reasoning = "<|channel|>analysis<|message|>",
	.finished = "<|end|>",
	.final = "<|channel|>final<|message|>",
	.ends = { "<|end|>", "<|return|>", "<|call|>" },
};
static const struct dialect_messages atem = {
	.start = "<|start|>assistant",
	.reasoning = " to=self<|message|>",
	.finished = "<|eom|>",
	.final = " to=user<|message|>",
	.ends = { "<|eom|>", "<|eot|>" },
};

/* The first row whose signs are present is taken; signs in the rendered turn take precedence over
 * the source. */
static const struct dialect formats[] = {
	{ .name = "harmony",
	  .sign = { "<|channel|>", "<|message|>" },
	  .form = { { .call = "<|channel|>commentary to=functions." DIALECT_NAME
	                      " <|constrain|>json<|message|>" DIALECT_ARGS } },
	  .begun = "<|start|>assistant",
	  .messages = &harmony },
	{ .name = "atem",
	  .sign = { "<atem:invoke name=\"" },
	  .form = { { .call = " to=" DIALECT_NAME "<|message|><atem:function_calls>\n"
	                      "<atem:invoke name=\"" DIALECT_NAME "\">\n" DIALECT_ARGS
	                      "</atem:invoke>\n</atem:function_calls>",
	              .between = "<|eom|><|start|>assistant",
	              .args = ARGS_TAGS } },
	  /* only after another call: the first call follows a header */
	  .head = { { "<atem:invoke name=\"" DIALECT_NAME "\">", ARGS_TAGS, 1 } },
	  .param = { "<atem:parameter name=\"" DIALECT_IDB DIALECT_ANY DIALECT_IDE "\">" },
	  .param_end = "</atem:parameter>",
	  .tags_end = "</atem:invoke>",
	  .close = { "</atem:function_calls>" },
	  .begun = "<|start|>assistant",
	  .messages = &atem },
	{ .name = "gemma",
	  .sign = { "<|tool_call>call:" },
	  .form = { { .call = "<|tool_call>call:" DIALECT_NAME DIALECT_ARGS "<tool_call|>",
	              .between = "",
	              .args = ARGS_GEMMA } },
	  .head = { { "<|tool_call>call:" DIALECT_NAME DIALECT_PEEK "{", ARGS_GEMMA, 0 } },
	  .close = { "<tool_call|>", "<|tool_response>" } },
	{ .name = "dsml",
	  .sign = { "<｜DSML｜", "invoke" },
	  .form = { { .sign = "function_calls",
	              .open = "<｜DSML｜function_calls>\n",
	              .call = "<｜DSML｜invoke name=\"" DIALECT_NAME "\">\n" DIALECT_ARGS
	                      "</｜DSML｜invoke>",
	              .between = "\n",
	              .close = "\n</｜DSML｜function_calls>",
	              .args = ARGS_TAGS },
	            { .open = "<｜DSML｜tool_calls>\n",
	              .call = "<｜DSML｜invoke name=\"" DIALECT_NAME "\">\n" DIALECT_ARGS
	                      "</｜DSML｜invoke>",
	              .between = "\n",
	              .close = "\n</｜DSML｜tool_calls>",
	              .args = ARGS_TAGS } },
	  .head = { { "<｜DSML｜function_calls>" DIALECT_WS "<｜DSML｜invoke name=\"" DIALECT_NAME
	              "\">",
	              ARGS_TAGS, 0 },
	            { "<｜DSML｜tool_calls>" DIALECT_WS "<｜DSML｜invoke name=\"" DIALECT_NAME
	              "\">",
	              ARGS_TAGS, 0 },
	            { "<｜DSML｜invoke name=\"" DIALECT_NAME "\">", ARGS_TAGS, 0 } },
	  .param = { "<｜DSML｜parameter name=\"" DIALECT_IDB DIALECT_ANY DIALECT_IDE
	             "\" string=\"true\">",
	             "<｜DSML｜parameter name=\"" DIALECT_IDB DIALECT_ANY DIALECT_IDE
	             "\" string=\"false\">" },
	  .param_end = "</｜DSML｜parameter>",
	  .tags_end = "</｜DSML｜invoke>",
	  .close = { "</｜DSML｜function_calls>", "</｜DSML｜tool_calls>" },
	  .flags = DIALECT_ENDS },
	{ .name = "deepseek",
	  .sign = { "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>" },
	  .form = { { .sign = "```json",
	              .open = "<｜tool▁calls▁begin｜>",
	              .call = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" DIALECT_NAME
	                      "\n```json\n" DIALECT_ARGS "\n```<｜tool▁call▁end｜>",
	              .between = "\n",
	              .close = "<｜tool▁calls▁end｜>" },
	            { .open = "<｜tool▁calls▁begin｜>",
	              .call = "<｜tool▁call▁begin｜>" DIALECT_NAME "<｜tool▁sep｜>" DIALECT_ARGS
	                      "<｜tool▁call▁end｜>",
	              .between = "",
	              .close = "<｜tool▁calls▁end｜>" } },
	  .head = { { "<｜tool▁calls▁begin｜>" DIALECT_WS
	              "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" DIALECT_NAME DIALECT_WS
	              "```json" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" DIALECT_NAME DIALECT_WS
	              "```json" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { "<｜tool▁calls▁begin｜>" DIALECT_WS "<｜tool▁call▁begin｜>" DIALECT_NAME
	              "<｜tool▁sep｜>" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { "<｜tool▁call▁begin｜>" DIALECT_NAME "<｜tool▁sep｜>" DIALECT_WS DIALECT_PEEK
	              "{",
	              ARGS_JSON, 0 } },
	  .close = { "```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>" } },
	{ .name = "kimi",
	  .sign = { "<|tool_call_begin|>", "<|tool_call_argument_begin|>" },
	  .form = { { .open = "<|tool_calls_section_begin|>",
	              .call = "<|tool_call_begin|>functions." DIALECT_NAME ":" DIALECT_DIGITS
	                      "<|tool_call_argument_begin|>" DIALECT_ARGS "<|tool_call_end|>",
	              .between = "",
	              .close = "<|tool_calls_section_end|>" } },
	  .head = { { "<|tool_calls_section_begin|>" DIALECT_WS
	              "<|tool_call_begin|>" DIALECT_WS DIALECT_IDB "functions." DIALECT_NAME
	              ":" DIALECT_ANY DIALECT_IDE
	              "<|tool_call_argument_begin|>" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { "<|tool_call_begin|>" DIALECT_WS DIALECT_IDB "functions." DIALECT_NAME
	              ":" DIALECT_ANY DIALECT_IDE
	              "<|tool_call_argument_begin|>" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 } },
	  .close = { "<|tool_call_end|>", "<|tool_calls_section_end|>" },
	  .flags = DIALECT_ENDS | DIALECT_NAMED_IDS },
	{ .name = "kimi-k3",
	  .sign = { "<|open|>call tool=\"" },
	  .form = { { .begin = "<|open|>tools<|sep|>",
	              .before = "<|open|>response<|sep|><|close|>response<|sep|>",
	              .open = "<|open|>tools<|sep|>",
	              .call = "<|open|>call tool=\"" DIALECT_NAME "\" index=\"" DIALECT_DIGITS
	                      "\"<|sep|>" DIALECT_ARGS "<|close|>call<|sep|>",
	              .between = "",
	              .close = "<|close|>tools<|sep|><|close|>message<|sep|>",
	              .args = ARGS_TAGS } },
	  .head = { { "<|open|>tools<|sep|>" DIALECT_WS K3_CALL "<|open|>json" DIALECT_ANY
	              "<|sep|>" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { K3_CALL "<|open|>json" DIALECT_ANY "<|sep|>" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { "<|open|>tools<|sep|>" DIALECT_WS K3_CALL, ARGS_TAGS, 0 },
	            { K3_CALL, ARGS_TAGS, 0 } },
	  .param = { K3_PARAM "string\"<|sep|>", K3_PARAM DIALECT_ANY "\"<|sep|>" },
	  .param_end = "<|close|>argument<|sep|>",
	  .tags_end = "<|close|>call<|sep|>",
	  .close = { "<|close|>json<|sep|>", "<|close|>call<|sep|>", "<|close|>tools<|sep|>" },
	  .drop = { "<|open|>response<|sep|>", "<|close|>response<|sep|>",
	            "<|close|>message<|sep|>", "<|end_of_msg|>" },
	  .flags = DIALECT_ENDS | DIALECT_TIGHT },
	{ .name = "mistral",
	  .sign = { "[TOOL_CALLS]" },
	  .form = { { .sign = "[CALL_ID]",
	              .call = "[TOOL_CALLS]" DIALECT_NAME "[CALL_ID]" DIALECT_ID
	                      "[ARGS]" DIALECT_ARGS,
	              .between = "" },
	            { .sign = "[ARGS]",
	              .call = "[TOOL_CALLS]" DIALECT_NAME "[ARGS]" DIALECT_ARGS,
	              .between = "" },
	            { .open = "[TOOL_CALLS][",
	              .call = "{\"name\": \"" DIALECT_NAME "\", \"arguments\": " DIALECT_ARGS
	                      ", \"id\": \"" DIALECT_ID "\"}",
	              .between = ", ",
	              .close = "]" } },
	  .head = { { "[TOOL_CALLS]" DIALECT_WS DIALECT_NAME
	              "[CALL_ID]" DIALECT_IDB DIALECT_ANY DIALECT_IDE
	              "[ARGS]" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { "[TOOL_CALLS]" DIALECT_WS DIALECT_NAME "[ARGS]" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { "[TOOL_CALLS]" DIALECT_WS DIALECT_NAME DIALECT_WS DIALECT_PEEK "{", ARGS_JSON,
	              0 },
	            { "[TOOL_CALLS]" DIALECT_WS, ARGS_ENVELOPE, 0 } } },
	{ .name = "glm",
	  .sign = { "<arg_key>", "<arg_value>" },
	  .form = { { .call = "<tool_call>" DIALECT_NAME "\n" DIALECT_ARGS "</tool_call>",
	              .between = "\n",
	              .args = ARGS_TAGS } },
	  .head = { { "<tool_call>" DIALECT_WS DIALECT_NAME DIALECT_WS DIALECT_PEEK "<", ARGS_TAGS,
	              0 } },
	  .param = { "<arg_key>" DIALECT_IDB DIALECT_ANY DIALECT_IDE "</arg_key>" DIALECT_WS
	             "<arg_value>" },
	  .param_end = "</arg_value>",
	  .tags_end = "</tool_call>",
	  .flags = DIALECT_ENDS },
	{ .name = "minimax-m3",
	  .sign = { M3 "<tool_call>" },
	  .form = { { .begin = M3 "<tool_call>",
	              .open = M3 "<tool_call>\n",
	              .call = M3 "<invoke name=\"" DIALECT_NAME "\">" DIALECT_ARGS M3 "</invoke>",
	              .between = "\n",
	              .close = "\n" M3 "</tool_call>",
	              .args = ARGS_TAGS } },
	  .head = { { M3 "<tool_call>" DIALECT_WS M3 "<invoke name=\"" DIALECT_NAME "\">",
	              ARGS_TAGS, 0 },
	            { M3 "<invoke name=\"" DIALECT_NAME "\">", ARGS_TAGS, 0 } },
	  .param = { M3 "<" DIALECT_IDB DIALECT_ANY DIALECT_IDE ">" },
	  .param_end = M3 "</" DIALECT_IDB ">",
	  .tags_end = M3 "</invoke>",
	  .nest = M3,
	  .close = { M3 "</tool_call>" },
	  .flags = DIALECT_TIGHT },
	{ .name = "minimax",
	  .sign = { "<minimax:tool_call>" },
	  .form = { { .open = "<minimax:tool_call>\n",
	              .call = "<invoke name=\"" DIALECT_NAME "\">\n" DIALECT_ARGS "</invoke>",
	              .between = "\n",
	              .close = "\n</minimax:tool_call>",
	              .args = ARGS_TAGS } },
	  .head = { { "<minimax:tool_call>" DIALECT_WS "<invoke name=\"" DIALECT_NAME "\">",
	              ARGS_TAGS, 0 },
	            { "<invoke name=\"" DIALECT_NAME "\">", ARGS_TAGS, 0 } },
	  .param = { "<parameter name=\"" DIALECT_IDB DIALECT_ANY DIALECT_IDE "\">" },
	  .param_end = "</parameter>",
	  .tags_end = "</invoke>",
	  .close = { "</minimax:tool_call>" } },
	{ .name = "seed",
	  .sign = { "<seed:tool_call>" },
	  .form = { { .call = "<seed:tool_call>\n<function=" DIALECT_NAME ">\n" DIALECT_ARGS
	                      "</function>\n</seed:tool_call>",
	              .between = "\n",
	              .args = ARGS_TAGS } },
	  .head = { { "<seed:tool_call>" DIALECT_WS "<function=" DIALECT_NAME ">", ARGS_TAGS, 0 },
	            { "<function=" DIALECT_NAME ">", ARGS_TAGS, 0 } },
	  .param = { "<parameter=" DIALECT_IDB DIALECT_ANY DIALECT_IDE ">" },
	  .param_end = "</parameter>",
	  .tags_end = "</function>",
	  .close = { "</seed:tool_call>" },
	  .flags = DIALECT_NEWLINES | DIALECT_UNFRAMED },
	{ .name = "qwen3-coder",
	  .sign = { "<function=", "<parameter=" },
	  .form = { { .call = "<tool_call>\n<function=" DIALECT_NAME ">\n" DIALECT_ARGS
	                      "</function>\n</tool_call>",
	              .between = "\n",
	              .args = ARGS_TAGS } },
	  .head = { { "<tool_call>" DIALECT_WS "<function=" DIALECT_NAME ">", ARGS_TAGS, 0 },
	            { "<function=" DIALECT_NAME ">", ARGS_TAGS, 0 } },
	  .param = { "<parameter=" DIALECT_IDB DIALECT_ANY DIALECT_IDE ">" },
	  .param_end = "</parameter>",
	  .tags_end = "</function>",
	  .close = { "</tool_call>" },
	  .flags = DIALECT_NEWLINES | DIALECT_ENDS },
	{ .name = "minicpm",
	  .sign = { "<function name=\"", "<param name=\"" },
	  .form = { { .call = "<function name=\"" DIALECT_NAME "\">" DIALECT_ARGS "</function>",
	              .between = "\n",
	              .args = ARGS_TAGS } },
	  .head = { { "<function name=\"" DIALECT_NAME "\">", ARGS_TAGS, 0 } },
	  .param = { "<param name=\"" DIALECT_IDB DIALECT_ANY DIALECT_IDE "\">" },
	  .param_end = "</param>",
	  .tags_end = "</function>",
	  .cdata = { "<![CDATA[", "]]></param>" },
	  .flags = DIALECT_TIGHT },
	{ .name = "functionary-3.1",
	  .sign = { "<function=", "</function>" },
	  .form = { { .call = "<function=" DIALECT_NAME ">" DIALECT_ARGS "</function>",
	              .between = "" } },
	  .head = { { "<function=" DIALECT_NAME ">" DIALECT_WS DIALECT_PEEK "{", ARGS_JSON, 0 },
	            { "<|python_tag|>", ARGS_CODE, 0 } },
	  .close = { "</function>" } },
	{ .name = "functionary-3.2",
	  .sign = { ">>>all" },
	  .form = { { .call = DIALECT_NAME "\n" DIALECT_ARGS, .between = ">>>" } },
	  .head = { { ">>>" DIALECT_NAME "\n" DIALECT_WS DIALECT_PEEK "{", ARGS_JSON, 0 },
	            { ">>>python\n", ARGS_CODE, 0 } },
	  .drop = { ">>>all\n" },
	  .begun = ">>>",
	  .plain = "all\n" },
	{ .name = "mcp",
	  .sign = { "<use_mcp_tool>" },
	  .form = { { .call = "<use_mcp_tool>\n<server_name>" DIALECT_ID
	                      "</server_name>\n<tool_name>" DIALECT_NAME
	                      "</tool_name>\n<arguments>\n" DIALECT_ARGS
	                      "\n</arguments>\n</use_mcp_tool>",
	              .between = "\n" } },
	  .head = { { "<use_mcp_tool>" DIALECT_WS "<server_name>" DIALECT_ANY
	              "</server_name>" DIALECT_WS "<tool_name>" DIALECT_NAME
	              "</tool_name>" DIALECT_WS "<arguments>" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 },
	            { "<server_name>" DIALECT_ANY "</server_name>" DIALECT_WS
	              "<tool_name>" DIALECT_NAME "</tool_name>" DIALECT_WS
	              "<arguments>" DIALECT_WS DIALECT_PEEK "{",
	              ARGS_JSON, 0 } },
	  .close = { "</arguments>", "</use_mcp_tool>" } },
	{ .name = "command-r7b",
	  .sign = { "<|START_ACTION|>" },
	  .form = { { .open = "<|START_ACTION|>[\n    ",
	              .call = "{\"tool_call_id\": \"" DIALECT_DIGITS
	                      "\", \"tool_name\": \"" DIALECT_NAME
	                      "\", \"parameters\": " DIALECT_ARGS "}",
	              .between = ",\n    ",
	              .close = "\n]<|END_ACTION|>" } },
	  .head = { { "<|START_ACTION|>" DIALECT_WS, ARGS_ENVELOPE, 0 } },
	  .close = { "<|END_ACTION|>" },
	  .drop = { "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>" } },
	{ .name = "command-r",
	  .sign = { "Action:", "```json" },
	  .form = { { .open = "Action:\n```json\n[\n",
	              .call = "    {\n        \"tool_name\": \"" DIALECT_NAME
	                      "\",\n        \"parameters\": " DIALECT_ARGS "\n    }",
	              .between = ",\n",
	              .close = "\n]\n```" } },
	  .head = { { "Action:" DIALECT_WS "```json" DIALECT_WS, ARGS_ENVELOPE, 0 } },
	  .close = { "```" },
	  .drop = { "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>" } },
	{ .name = "apertus",
	  .sign = { "<|tools_prefix|>" },
	  .form = { { .open = "<|tools_prefix|>[",
	              .call = "{\"" DIALECT_NAME "\": " DIALECT_ARGS "}",
	              .between = ", ",
	              .close = "]<|tools_suffix|>" } },
	  .head = { { "<|tools_prefix|>" DIALECT_WS, ARGS_KEYED, 0 } },
	  .close = { "<|tools_suffix|>" },
	  .flags = DIALECT_ENDS },
	{ .name = "granite",
	  .sign = { "<|tool_call|>" },
	  .form = { LIST("<|tool_call|>", "") },
	  .head = { { "<|tool_call|>" DIALECT_WS, ARGS_ENVELOPE, 0 } },
	  .close = { "<|/tool_call|>" },
	  .drop = { "<response>", "</response>" } },
	{ .name = "gigachat",
	  .sign = { "<|function_call|>" },
	  .form = { { .call = "<|function_call|>" ENVELOPE } },
	  .head = { { "<|function_call|>" DIALECT_WS, ARGS_ENVELOPE, 0 } },
	  .close = { "<|message_sep|>" } },
	{ .name = "gigachat-3",
	  .sign = { "function call<|role_sep|>" },
	  .form = { { .call = "<|message_sep|>\n\nfunction call<|role_sep|>\n" ENVELOPE } },
	  .head = { { "<|message_sep|>" DIALECT_WS "function call<|role_sep|>" DIALECT_WS,
	              ARGS_ENVELOPE, 0 } },
	  .close = { "<|message_sep|>" } },
	{ .name = "apriel",
	  .sign = { "<tool_calls>[" },
	  .form = { LIST("<tool_calls>", "</tool_calls>") },
	  .head = { { "<tool_calls>" DIALECT_WS, ARGS_ENVELOPE, 0 } },
	  .close = { "</tool_calls>" } },
	{ .name = "nemotron-2",
	  .sign = { "<TOOLCALL>" },
	  .form = { LIST("<TOOLCALL>", "</TOOLCALL>") },
	  .head = { { "<TOOLCALL>" DIALECT_WS, ARGS_ENVELOPE, 0 } },
	  .close = { "</TOOLCALL>" },
	  .drop = { "<SPECIAL_12>" } },
	{ .name = "firefunction",
	  .sign = { "functools[" },
	  .form = { LIST("functools", "") },
	  .head = { { "functools" DIALECT_WS DIALECT_PEEK "[", ARGS_ENVELOPE, 0 } } },
	{ .name = "lfm2",
	  .sign = { "List of tools: " },
	  .form = { { .open = "<|tool_call_start|>[",
	              .call = DIALECT_NAME DIALECT_ARGS,
	              .between = ", ",
	              .close = "]<|tool_call_end|>",
	              .args = ARGS_PYTHON } },
	  .head = { { "<|tool_call_start|>" DIALECT_WS "[" DIALECT_WS DIALECT_NAME DIALECT_PEEK "(",
	              ARGS_PYTHON, 0 },
	            { "[" DIALECT_NAME DIALECT_PEEK "(", ARGS_PYTHON, 0 },
	            { "<|tool_call_start|>" DIALECT_WS, ARGS_ENVELOPE, 0 } },
	  .close = { "<|tool_call_end|>" } },
	{ .name = "hermes",
	  .sign = { "<tool_call>" },
	  .form = { HERMES },
	  .head = { { "<tool_call>" DIALECT_WS, ARGS_ENVELOPE, 0 } },
	  .close = { "</tool_call>" } },
	{ .name = "llama",
	  .sign = { "\"parameters\": " },
	  .form = { { .call = "{\"name\": \"" DIALECT_NAME "\", \"parameters\": " DIALECT_ARGS
	                      "}" } },
	  .head = { { DIALECT_PEEK "{", ARGS_ENVELOPE, 1 },
	            { "<|python_tag|>" DIALECT_WS DIALECT_PEEK "{", ARGS_ENVELOPE, 0 },
	            { "<|python_tag|>" DIALECT_WS DIALECT_NAME ".call" DIALECT_PEEK "(",
	              ARGS_PYTHON, 0 },
	            { "<|python_tag|>", ARGS_CODE, 0 } },
	  .close = { ";" } },
	/* for templates without any sign: the format that most models learned */
	{ .name = "any",
	  .form = { HERMES },
	  .head = { { "<tool_call>" DIALECT_WS, ARGS_ENVELOPE, 0 },
	            { DIALECT_PEEK "{", ARGS_ENVELOPE, 1 } },
	  .close = { "</tool_call>" } },
};

static const struct dialect_think thinks[] = {
	{ "<seed:think>", "</seed:think>", NULL, 0, NULL },
	{ "<mm:think>", "</mm:think>", NULL, 0, NULL },
	{ "[THINK]", "[/THINK]", NULL, 0, NULL },
	{ "<|START_THINKING|>", "<|END_THINKING|>", NULL, 0, NULL },
	{ "<|channel>thought", "<channel|>", "<|channel>", DIALECT_AGAIN, NULL },
	{ "<|inner_prefix|>", "<|inner_suffix|>", NULL, DIALECT_AGAIN, NULL },
	{ "Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]", NULL, DIALECT_KEEP, NULL },
	{ "<|open|>think<|sep|>", "<|close|>think<|sep|>", NULL, DIALECT_HIDE,
	  "<|open|>response<|sep|>" },
	{ "<think>", "</think>", NULL, 0, NULL },
};

const struct dialect *dialect_at(size_t i)
{
	return i < sizeof formats / sizeof *formats ? &formats[i] : NULL;
}

static int text_has_sign(const char *s, size_t n, const char *what)
{
	return !what || (n && memmem(s, n, what, strlen(what)));
}

int dialect_recognise(const char *turn, size_t turn_n, const char *source, size_t n,
                      const struct dialect **format, const struct dialect_think **think)
{
	enum {
		FORMATS = sizeof formats / sizeof *formats,
		THINKS = sizeof thinks / sizeof *thinks
	};
	size_t i, k;

	for (i = 0; i < FORMATS &&
	            !(formats[i].sign[0] && text_has_sign(turn, turn_n, formats[i].sign[0]) &&
	              text_has_sign(turn, turn_n, formats[i].sign[1]));
	     i++)
		;
	if (i == FORMATS)
		/* ends at the last row, which has no signs */
		for (i = 0; !(text_has_sign(source, n, formats[i].sign[0]) &&
		              text_has_sign(source, n, formats[i].sign[1]));
		     i++)
			;
	for (k = 0; k < THINKS && !text_has_sign(turn, turn_n, thinks[k].close) &&
	            !text_has_sign(source, n, thinks[k].close);
	     k++)
		;
	*format = &formats[i];
	*think = &thinks[k < THINKS ? k : THINKS - 1];
	return k < THINKS;
}
