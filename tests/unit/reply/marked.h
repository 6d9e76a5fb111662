/* tests/unit/reply/marked.h - templates of each dialect, and a tool */
#ifndef REPLY_MARKED_H
#define REPLY_MARKED_H
#include <stdio.h>
#include <string.h>
#include <infer/reply.h>

static const char tool_f[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":"
			     "\"d\",\"parameters\":{\"type\":\"object\","
			     "\"properties\":{\"a\":{\"type\":\"string\",\"description\":\"d\"},"
			     "\"n\":{\"type\":\"integer\",\"description\":\"d\"},"
			     "\"l\":{\"type\":\"array\",\"description\":\"d\",\"items\":{\"type\":"
			     "\"string\"}}},\"required\":[\"a\"]}}}]";

/* Read; infer_tools_free. */
__attribute__((unused)) static infer_tools *read_tools(const char *json)
{
	infer_tools *t;
	infer_error err;

	if (infer_tools_read(&t, json, strlen(json), &err))
		fail_msg("%s", err.message);
	return t;
}

static const char *const marked[] = { "{# <tool_call> #}",
	                              "{# <function= <parameter= #}",
	                              "{# List of tools: #}",
	                              "{# <|channel|> <|message|> #}",
	                              "{# <|tool_call>call: <channel|> #}",
	                              "{# \"parameters\": #}",
	                              "{# [TOOL_CALLS] [/THINK] #}",
	                              "{# <arg_key> <arg_value> #}" };

__attribute__((unused)) static infer_chat *marked_chat(const char *mark)
{
	char source[512];
	infer_chat *chat;
	infer_error err = { 0 };

	snprintf(source, sizeof source, "%s{%% for m in messages %%}{{ m.content }}{%% endfor %%}",
	         mark);
	assert_int_equal(infer_chat_open(&chat, source, strlen(source), "marked", &err), INFER_OK);
	return chat;
}
#endif
