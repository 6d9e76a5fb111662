/* infer-serve/chatml.c - conversations with a model that has no chat template: ChatML, and calls of tools
 * as JSON between tags */
#include "infer-serve/serve.h"
#include "common/say.h"

static const char source[] =
	"{%- if tools -%}\n"
	"<|im_start|>system\n"
	"{% if messages[0].role == 'system' %}{{ messages[0].content }}\n\n{% endif -%}\n"
	"You can call these functions:\n"
	"{% for tool in tools %}{{ tool.function | tojson }}\n{% endfor -%}\n"
	"Write a call as JSON between tags:\n"
	"<tool_call>\n{\"name\": ..., \"arguments\": {...}}\n</tool_call><|im_end|>\n"
	"{% endif -%}\n"
	"{%- for m in messages -%}\n"
	"{%- if m.role == 'tool' -%}\n"
	"<|im_start|>user\n<tool_response>\n{{ m.content }}\n</tool_response><|im_end|>\n"
	"{% elif not (tools and loop.first and m.role == 'system') -%}\n"
	"<|im_start|>{{ m.role }}\n"
	"{{ m.content }}{% for c in m.tool_calls or [] %}\n<tool_call>\n"
	"{\"name\": {{ c.function.name | tojson }}, "
	"\"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>\n"
	"{% endif -%}\n"
	"{%- endfor -%}\n"
	"{%- if add_generation_prompt -%}\n"
	"<|im_start|>assistant\n"
	"{% endif -%}\n";

int chatml_open(infer_chat **chat, infer_error *err)
{
	if (*chat)
		return INFER_OK;
	say_note(1, "the model has no chat template: conversations are written as ChatML");
	return infer_chat_open(chat, source, sizeof source - 1, "ChatML", err);
}
