/* infer-inspect/template.c - the chat template of a model. */
#include "inspect.h"
#include "common/confine.h"
#include "common/input.h"
#include <infer/reply.h>
#include <infer/token.h>
#include "base/err.h"

#include <string.h>

/* The fields of struct infer_chat_caps, described. */
static const struct can {
	const char *name;
	size_t at;
	const char *means;
} cans[] = {
#define CAN(f, means) \
	{ \
#f, offsetof(struct infer_chat_caps, f), means \
	}
	CAN(system, "has the role system"),
	CAN(developer, "has the role developer"),
	CAN(parts, "takes content as a list of parts"),
	CAN(only_parts, "and only so"),
	CAN(tools, "writes tools"),
	CAN(calls, "writes calls of earlier turns"),
	CAN(objects, "takes their arguments as objects"),
	CAN(results, "has the role tool"),
	CAN(null_content, "takes content null next to calls"),
	CAN(thinking, "switches thinking on and off"),
#undef CAN
};
enum { CANS = sizeof cans / sizeof *cans };

static const char prefix[] = "tokenizer.chat_template.";
static const char sample[] = "[{\"role\":\"user\",\"content\":\"Hello\"},{\"role\":\"assistant\","
			     "\"content\":\"Hello!\"},"
			     "{\"role\":\"user\",\"content\":\"How are you?\"}]";

/* A template, and a conversation that it rendered. */
struct shown {
	const infer_file *file;
	infer_tokenizer *t;
	struct chat chat;
	const infer_chat *template;
	struct infer_chat_caps caps;
	int reads; /* 1: tool calls in answers can be parsed */
	struct buf words;
	char *text;
	size_t n;
	int32_t *ids;
	size_t n_ids;
};

static int has_ability(const struct shown *s, int i)
{
	return *(const int *)((const char *)&s->caps + cans[i].at);
}

/* Find the name of the nth template that is not the default.  Returns 0 if there are fewer. */
static int nth_name(struct infer_str *name, const infer_file *file, size_t nth)
{
	const struct infer_meta *m;

	for (uint64_t i = 0; (m = infer_file_meta_at(file, i)); i++) {
		if (m->key.len < sizeof prefix - 1 ||
		    memcmp(m->key.at, prefix, sizeof prefix - 1) || nth--)
			continue;
		*name = (struct infer_str){ m->key.at + sizeof prefix - 1,
			                    m->key.len - (sizeof prefix - 1) };
		return 1;
	}
	return 0;
}

/* Return the first token from id on that ends a turn, or -1. */
static int32_t next_end(const infer_tokenizer *t, int32_t id, struct infer_token_info *info)
{
	for (; id < infer_tokenizer_count(t); id++)
		if (infer_token_is_eog(t, id) && !infer_token_info(t, id, info, NULL))
			return id;
	return -1;
}

static void put_template_text(struct buf *out, const struct shown *s)
{
	struct infer_token_info info;
	const char *calls, *reasoning;
	struct infer_str name;

	for (size_t i = 0; nth_name(&name, s->file, i); i++) {
		buf_printf(out, "%-13s ", "named");
		put_plain(out, name, SIZE_MAX);
		buf_putc(out, '\n');
	}
	buf_printf(out, "%-13s", "ends");
	for (int32_t id = next_end(s->t, 0, &info); id >= 0; id = next_end(s->t, id + 1, &info)) {
		buf_printf(out, " %d ", (int)id);
		put_plain(out, info.piece, SIZE_MAX);
	}
	buf_putc(out, '\n');
	for (int i = 0; i < CANS; i++)
		buf_printf(out, "%-13s %-3s  %s\n", cans[i].name, has_ability(s, i) ? "yes" : "no",
		           cans[i].means);
	infer_reply_format(s->template, &calls, &reasoning);
	buf_printf(out, "%-13s %s%s, %s\n", "answers", calls, s->reads ? "" : " (not read)",
	           reasoning);
	buf_printf(out, "%-13s %zu\n\n", "tokens", s->n_ids);
	buf_put(out, s->text, s->n);
	buf_putc(out, '\n');
}

static void put_template_json(struct buf *out, const struct shown *s)
{
	struct infer_token_info info;
	const char *calls, *reasoning;
	struct infer_str name;
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_TEMPLATE, INFER_RECORD_FIRST);
	jw_array(&w, "named");
	for (size_t i = 0; nth_name(&name, s->file, i); i++)
		jw_strn(&w, NULL, name.at, name.len);
	jw_end(&w);
	jw_array(&w, "ends");
	for (int32_t id = next_end(s->t, 0, &info); id >= 0; id = next_end(s->t, id + 1, &info))
		jw_int(&w, NULL, id);
	jw_end(&w);
	jw_object(&w, "can");
	for (int i = 0; i < CANS; i++)
		jw_bool(&w, cans[i].name, has_ability(s, i));
	jw_end(&w);
	infer_reply_format(s->template, &calls, &reasoning);
	jw_object(&w, "answers");
	jw_str(&w, "calls", calls);
	jw_str(&w, "reasoning", reasoning);
	jw_bool(&w, "read", s->reads);
	jw_end(&w);
	jw_strn(&w, "text", s->text, s->n);
	jw_array(&w, "tokens");
	for (size_t i = 0; i < s->n_ids; i++)
		jw_int(&w, NULL, s->ids[i]);
	jw_end(&w);
	infer_record_close(&w);
}

/* Render and encode the conversation that is given, or else a small sample. */
static int render_conversation(struct shown *s, const struct inspect_opts *o,
                               const struct opt_rest *words, infer_error *err)
{
	struct infer_conversation *c = &s->chat.c;

	TRY(input_read(&s->words, words, &o->files, INPUT_NO_STDIN | INPUT_MAYBE, NULL, err));
	if (s->words.len) {
		c->user = s->words.at;
		c->user_n = s->words.len;
	} else if (!c->messages) {
		c->messages = sample;
		c->messages_n = sizeof sample - 1;
	}
	TRY(confine(CONFINE_TRY, 0, err));
	TRY(infer_tokenizer_open(&s->t, s->file, err));
	int rc = infer_chat_render(s->template, s->t, c, &s->text, NULL, &s->n, err);

	TRY(chat_named(o->chat.messages, rc, err));
	return infer_chat_encode(s->template, s->t, c, &s->ids, &s->n_ids, err);
}

static int show_template(struct buf *out, struct shown *s, const struct inspect_opts *o,
                         const struct opt_rest *words, infer_error *err)
{
	if (o->source) {
		if (o->json || words->n_words || o->files.n || o->chat.system || o->chat.messages ||
		    o->chat.args || o->chat.think >= 0)
			return err_set(err, INFER_EINVAL,
			               "--source prints a template: only --template and --tools go "
			               "with it");
		TRY(chat_source(out, &o->chat, s->file, NULL, err));
		buf_putc(out, '\n');
		return INFER_OK;
	}
	TRY(chat_take(&s->chat, &o->chat, s->file, NULL, err));
	s->template = chat_for(&s->chat, s->chat.c.tools != NULL);
	if (!s->template)
		return err_set(err, INFER_EUNSUP, "%s: has no chat template",
		               infer_file_path(s->file));
	infer_chat_caps(s->template, &s->caps);
	TRY(infer_reply_reads(s->template, &s->reads, err));
	TRY(render_conversation(s, o, words, err));
	if (o->json)
		put_template_json(out, s);
	else
		put_template_text(out, s);
	return INFER_OK;
}

int template(struct buf *out, const struct inspect_opts *o, const infer_file *file,
             const struct opt_rest *words, infer_error *err)
{
	struct shown s = { .file = file };

	buf_init(&s.words, MEM_BASE);
	int rc = show_template(out, &s, o, words, err);

	infer_chat_free(s.text);
	infer_ids_free(s.ids);
	infer_tokenizer_close(&s.t);
	chat_fini(&s.chat);
	buf_fini(&s.words);
	return rc;
}
