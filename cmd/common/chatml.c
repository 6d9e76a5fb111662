/* common/chatml.c - conversations with a model that has no chat template: ChatML, and
 * calls of tools as JSON between tags */
#include "common/chatml.h"
#include "base/err.h"

/* first line of the template, if the tokenizer adds BOS */
static const char bos[] = "{{- bos_token -}}\n";
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

static int adds_bos(int *adds, const infer_tokenizer *t, infer_error *err)
{
	int32_t *ids;
	size_t n;

	TRY(infer_encode(t, "", 0, INFER_ENCODE_ADD, &ids, &n, err));
	*adds = n && ids[0] == infer_token_special(t, INFER_BOS);
	infer_ids_free(ids);
	return INFER_OK;
}

int chatml_source(struct buf *out, const infer_tokenizer *t, infer_error *err)
{
	int adds;

	TRY(adds_bos(&adds, t, err));
	if (adds)
		buf_puts(out, bos);
	buf_puts(out, source);
	return INFER_OK;
}
