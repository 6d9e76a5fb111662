/* hub/ollama_template.c - Jinja templates with the effect of the Go templates of Ollama's models.
 * A Go template is recognised by the special tokens that it writes: all of `with`, none of
 * `without`. */
#include "hub/store.h"

#include <string.h>

/* Jinja loop over the messages: `turn` writes one message, `open` begins the answer. */
#define TURNS(turn, open) \
	"{% for m in messages %}" turn "{% endfor %}" \
	"{% if add_generation_prompt %}" open "{% endif %}"
/* The system prompt, which these families put into the first user turn. */
#define SYSTEM_APART \
	"{% set s = '' %}{% if messages[0].role == 'system' %}{% set s = messages[0].content %}" \
	"{% set messages = messages[1:] %}{% endif %}"

enum { MARKS = 3 };
static const struct family {
	const char *name, *with[MARKS], *without[MARKS], *jinja;
} families[] = {
	{ "Phi-4",
	  { "<|im_start|>", "<|im_sep|>", "<|im_end|>" },
	  { 0 },
	  TURNS("<|im_start|>{{ m.role }}<|im_sep|>{{ m.content }}<|im_end|>",
	        "<|im_start|>assistant<|im_sep|>") },
	{ "ChatML",
	  { "<|im_start|>", "<|im_end|>" },
	  { 0 },
	  TURNS("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{{ '' }}",
	        "<|im_start|>assistant\n{{ '' }}") },
	{ "Llama 3.1",
	  { "<|start_header_id|>", "<|eot_id|>", "Cutting Knowledge Date: December 2023" },
	  { 0 },
	  "{{ bos_token }}" SYSTEM_APART
	  "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n\n"
	  "{{ s | trim }}<|eot_id|>" TURNS(
		  "<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}"
		  "<|eot_id|>",
		  "<|start_header_id|>assistant<|end_header_id|>\n\n{{ '' }}") },
	{ "Llama 3",
	  { "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>" },
	  { 0 },
	  "{{ bos_token }}" TURNS(
		  "<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}"
		  "<|eot_id|>",
		  "<|start_header_id|>assistant<|end_header_id|>\n\n{{ '' }}") },
	{ "Llama 4",
	  { "<|header_start|>", "<|header_end|>", "<|eot|>" },
	  { 0 },
	  "{{ bos_token }}" TURNS(
		  "<|header_start|>{{ m.role }}<|header_end|>\n\n{{ m.content | trim }}<|eot|>",
		  "<|header_start|>assistant<|header_end|>\n\n{{ '' }}") },
	{ "Gemma",
	  { "<start_of_turn>", "<end_of_turn>" },
	  { 0 },
	  "{{ bos_token }}" SYSTEM_APART TURNS(
		  "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
		  "{{ s + '\n\n' if s and loop.first else '' }}{{ m.content | trim "
		  "}}<end_of_turn>\n"
		  "{{ '' }}",
		  "<start_of_turn>model\n{{ '' }}") },
	{ "DeepSeek",
	  { "<｜User｜>", "<｜Assistant｜>" },
	  { 0 },
	  "{{ bos_token }}" TURNS("{% if m.role == 'user' %}<｜User｜>{{ m.content }}"
	                          "{% elif m.role == 'assistant' %}<｜Assistant｜>{{ m.content }}"
	                          "<｜end▁of▁sentence｜>{% else %}{{ m.content }}{% endif %}",
	                          "<｜Assistant｜>") },
	{ "gpt-oss",
	  { "<|start|>", "<|channel|>", "<|message|>" },
	  { 0 },
	  SYSTEM_APART
	  "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
	  "Knowledge cutoff: 2024-06\nCurrent date: {{ strftime_now('%Y-%m-%d') }}\n\n"
	  "Reasoning: medium\n\n# Valid channels: analysis, commentary, final. "
	  "Channel must be included for every message.<|end|>"
	  "{% if s %}<|start|>developer<|message|># Instructions\n\n{{ s }}\n\n<|end|>{% endif "
	  "%}" TURNS(
		  "<|start|>{{ m.role }}{{ '<|channel|>final' if m.role == 'assistant' else '' }}"
		  "<|message|>{{ m.content }}<|end|>",
		  "<|start|>assistant") },
	{ "Phi-3",
	  { "<|user|>", "<|assistant|>", "<|end|>" },
	  { "<|start|>", "<|channel|>" },
	  TURNS("<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{{ '' }}", "<|assistant|>\n{{ '' }}") },
	{ "Zephyr",
	  { "<|user|>", "<|assistant|>", "</s>" },
	  { "<|end|>" },
	  TURNS("<|{{ m.role }}|>\n{{ m.content }}</s>\n{{ '' }}", "<|assistant|>\n{{ '' }}") },
	{ "GLM-4",
	  { "[gMASK]<sop>", "<|user|>", "<|assistant|>" },
	  { "<|end|>" },
	  "[gMASK]<sop>" TURNS("<|{{ m.role }}|>\n{{ m.content }}", "<|assistant|>") },
	{ "Llama 2",
	  { "[INST]", "[/INST]", "<<SYS>>" },
	  { 0 },
	  SYSTEM_APART TURNS("{% if m.role == 'user' %}{{ bos_token }}[INST] "
	                     "{{ '<<SYS>>\n' + s + '\n<</SYS>>\n\n' if s and loop.first else '' }}"
	                     "{{ m.content | trim }} [/INST]"
	                     "{% else %} {{ m.content | trim }} {{ eos_token }}{% endif %}",
	                     "") },
	{ "Mistral",
	  { "[INST] ", " [/INST]" },
	  { "<<SYS>>", "[SYSTEM_PROMPT]" },
	  "{{ bos_token }}" SYSTEM_APART TURNS(
		  "{% if m.role == 'user' %}[INST] {{ s + ' ' if s and loop.first else '' }}"
		  "{{ m.content }} [/INST]{% else %} {{ m.content }}{{ eos_token }}{% endif %}",
		  "") },
	{ "Mistral (version 3)",
	  { "[INST] ", "[/INST]" },
	  { "<<SYS>>", "[SYSTEM_PROMPT]", " [/INST]" },
	  "{{ bos_token }}" SYSTEM_APART TURNS(
		  "{% if m.role == 'user' %}[INST] "
		  "{{ s + '\n\n' if s and loop.last else '' }}{{ m.content }}[/INST]"
		  "{% else %} {{ m.content }}{{ eos_token }}{% endif %}",
		  "") },
	{ "Mistral (Tekken)",
	  { "[INST]", "[/INST]" },
	  { "[INST] ", "<<SYS>>", "[SYSTEM_PROMPT]" },
	  "{{ bos_token }}" SYSTEM_APART TURNS(
		  "{% if m.role == 'user' %}[INST]{{ s + '\n\n' if s and loop.last else '' }}"
		  "{{ m.content }}[/INST]{% else %}{{ m.content }}{{ eos_token }}{% endif %}",
		  "") },
	{ "Mistral (version 7)",
	  { "[INST]", "[/INST]", "[SYSTEM_PROMPT]" },
	  { "[INST] " },
	  "{{ bos_token }}" TURNS(
		  "{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]"
		  "{% elif m.role == 'system' %}[SYSTEM_PROMPT]{{ m.content }}[/SYSTEM_PROMPT]"
		  "{% else %}{{ m.content }}{{ eos_token }}{% endif %}",
		  "") },
};

static int contains(const char *go, size_t n, const char *mark)
{
	return memmem(go, n, mark, strlen(mark)) != NULL;
}

const char *ollama_template(const char *go, size_t n, const char **family)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		const struct family *f = &families[i];
		int fits = 1;

		for (int k = 0; fits && k < MARKS; k++)
			fits = (!f->with[k] || contains(go, n, f->with[k])) &&
			       (!f->without[k] || !contains(go, n, f->without[k]));
		if (fits) {
			*family = f->name;
			return f->jinja;
		}
	}
	return NULL;
}
