/* text/chat.c - conversations to prompts. */
#include "text/chat.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/utf8.h"
#include "text/tok.h"

#include <stdio.h>
#include <string.h>

int chat_run(const struct infer_chat *c, const json_t *context, int64_t now, struct buf *text, struct buf *plain, infer_error *err)
{
	static const char *const trusted[] = { "bos_token", "eos_token", "unk_token", "pad_token", "role", NULL };
	const struct jinja_options o = { .now = now, .trusted = trusted, .flags = JINJA_MUTABLE };

	return jinja_render(c->template, context, &o, text, plain, err);
}

int infer_chat_open(infer_chat **out, const char *source, size_t n, const char *name, infer_error *err)
{
	infer_chat *c = mem_zalloc(MEM_TEXT, 1, sizeof *c);
	int rc;

	*out = NULL;
	if (!c)
		return err_set(err, INFER_ENOMEM, "out of memory for a chat template");
	rc = jinja_compile(&c->template, source, n, name, err);
	if (!rc)
		rc = chat_probe(c, source, n, err);
	if (rc) {
		infer_chat_close(&c);
		return rc;
	}
	*out = c;
	return INFER_OK;
}

void infer_chat_close(infer_chat **chat)
{
	if (*chat)
		jinja_free((*chat)->template);
	mem_free(*chat);
	*chat = NULL;
}

void infer_chat_caps(const infer_chat *chat, struct infer_chat_caps *caps)
{
	*caps = chat->caps;
}

void infer_chat_free(void *p)
{
	mem_free(p);
}

int infer_chat_source(const infer_file *f, const char *name, struct infer_str *source, infer_error *err)
{
	char key[96] = "tokenizer.chat_template";
	int found;

	*source = (struct infer_str){ 0 };
	if (name && snprintf(key, sizeof key, "tokenizer.chat_template.%s", name) >= (int)sizeof key)
		return INFER_OK;
	TRY(infer_meta_str(f, key, source, &found, err));
	return found || name ? INFER_OK : infer_meta_str(f, "tokenizer.chat_template.default", source, NULL, err);
}

/* ---- a context ---- */

static int nomem(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for a conversation");
}

/* The text of a special token; "" where there is none. */
static json_t *special(const infer_tokenizer *t, int which)
{
	struct infer_token_info info;

	if (!t || infer_token_info(t, infer_token_special(t, which), &info, NULL))
		return json_string("");
	return json_stringn(info.piece.at, info.piece.len);
}

static int set_args(json_t *context, const struct infer_conversation *c, infer_error *err)
{
	json_t *args = NULL;
	int bad = 0;

	if (c->args) {
		TRY(jread(&args, c->args, c->args_n, "template arguments", err));
		if (!json_is_object(args)) {
			json_decref(args);
			return err_set(err, INFER_EFORMAT, "the template arguments are not an object");
		}
		bad = json_object_update(context, args);
		json_decref(args);
	}
	if (c->think != INFER_THINK_DEFAULT) {   /* templates know it by one name or the other */
		bad |= json_object_set_new(context, "enable_thinking", json_boolean(c->think == INFER_THINK_ON));
		bad |= json_object_set_new(context, "thinking", json_boolean(c->think == INFER_THINK_ON));
	}
	return bad ? nomem(err) : INFER_OK;
}

static int set_tools(json_t *context, const infer_chat *chat, const struct infer_conversation *c, infer_error *err)
{
	json_t *tools = NULL;

	if (c->tools) {
		TRY(jread(&tools, c->tools, c->tools_n, "tools", err));
		if (!json_is_array(tools)) {
			json_decref(tools);
			return err_set(err, INFER_EFORMAT, "tools is not an array");
		}
	}
	if (!json_array_size(tools)) {   /* none: as the template expects it */
		json_decref(tools);
		tools = chat->empty_tools ? json_array() : json_null();
	}
	return json_object_set_new(context, "tools", tools) ? nomem(err) : INFER_OK;
}

/* A turn of plain words at `at` of all. */
static int put_turn(json_t *all, size_t at, const char *role, const char *text, size_t n, infer_error *err)
{
	size_t good = n ? utf8_check(text, n) : 0;

	if (good < n)
		return err_set(err, INFER_EINVAL, "the %s's words are not UTF-8 at byte %zu", role, good);
	json_t *m = json_pack("{s:s, s:o}", "role", role, "content", json_stringn(n ? text : "", n));

	return json_array_insert_new(all, at, m) ? nomem(err) : INFER_OK;
}

static int is_system(const json_t *m)
{
	const char *role = json_string_value(json_object_get(m, "role"));

	return role && (!strcmp(role, "system") || !strcmp(role, "developer"));
}

/* The turns of c, checked, in one array. */
static int gather(json_t **out, const struct infer_conversation *c, infer_error *err)
{
	json_t *all = NULL;
	int rc = INFER_OK;

	*out = NULL;
	if (c->messages)
		TRY(jread(&all, c->messages, c->messages_n, "messages", err));
	else if (!(all = json_array()))
		return nomem(err);
	rc = chat_check(all, err);
	if (!rc && c->system && is_system(json_array_get(all, 0)))
		rc = err_set(err, INFER_EINVAL, "a system turn is given, and the messages begin with one");
	if (!rc && c->system)
		rc = put_turn(all, 0, "system", c->system, c->system_n, err);
	if (!rc && c->user)
		rc = put_turn(all, json_array_size(all), "user", c->user, c->user_n, err);
	if (!rc && !json_array_size(all))
		rc = err_set(err, INFER_EFORMAT, "messages is an array with nothing in it");
	if (rc)
		json_decref(all);
	else
		*out = all;
	return rc;
}

/* *last: the words that the rendering is to end with (json_decref), or left alone. */
static int fill(json_t *context, json_t **last, const infer_chat *chat, const infer_tokenizer *t, const struct infer_conversation *c,
                infer_error *err)
{
	json_t *given, *fit;
	int no_prompt = c->flags & INFER_CHAT_NO_PROMPT;

	TRY(gather(&given, c, err));
	int rc = c->flags & INFER_CHAT_CONTINUE ? chat_mark(last, given, err) : INFER_OK;
	if (!rc)
		rc = chat_fit(&fit, given, &chat->caps, err);
	json_decref(given);
	TRY(rc);
	int bad = json_object_set_new(context, "messages", fit);
	bad |= json_object_set_new(context, "documents", json_null());
	bad |= json_object_set_new(context, "add_generation_prompt", json_boolean(!no_prompt && !*last));
	bad |= json_object_set_new(context, "bos_token", special(t, INFER_BOS));
	bad |= json_object_set_new(context, "eos_token", special(t, INFER_EOS));
	if (bad)
		return nomem(err);
	TRY(set_tools(context, chat, c, err));
	return set_args(context, c, err);
}

int infer_chat_check(const infer_chat *chat, const struct infer_conversation *c, infer_error *err)
{
	if (c->tools && !chat->caps.tools)
		return err_set(err, INFER_EUNSUP, "the chat template does not know tools");
	if (c->think != INFER_THINK_DEFAULT && !chat->caps.thinking)
		return err_set(err, INFER_EUNSUP, "the chat template does not switch thinking on and off");
	return INFER_OK;
}

int infer_chat_render(const infer_chat *chat, const infer_tokenizer *t, const struct infer_conversation *c, char **text,
                      unsigned char **plain, size_t *n, infer_error *err)
{
	struct buf out, from;
	json_t *context = json_object(), *last = NULL;
	size_t same;

	*text = NULL;
	*n = 0;
	if (plain)
		*plain = NULL;
	if (!context)
		return nomem(err);
	buf_init(&out, MEM_TEXT);
	buf_init(&from, MEM_TEXT);
	int rc = fill(context, &last, chat, t, c, err);
	if (!rc)
		rc = chat_run(chat, context, c->now, &out, plain ? &from : NULL, err);
	if (!rc && last)
		rc = chat_cut(&out, &from, last, err);
	json_decref(context);
	json_decref(last);
	buf_putc(&out, 0);
	buf_putc(&from, 0);
	if (!rc && (out.bad || from.bad))
		rc = nomem(err);
	if (!rc) {
		*text = buf_take(&out, n);
		--*n;
		if (plain)
			*plain = (unsigned char *)buf_take(&from, &same);
	}
	buf_fini(&out);
	buf_fini(&from);
	return rc;
}

int infer_chat_encode(const infer_chat *chat, const infer_tokenizer *t, const struct infer_conversation *c, int32_t **ids,
                      size_t *n_ids, infer_error *err)
{
	unsigned char *plain;
	char *text;
	size_t n;

	*ids = NULL;
	*n_ids = 0;
	TRY(infer_chat_render(chat, t, c, &text, &plain, &n, err));
	int rc = tok_encode(t, text, n, plain, INFER_ENCODE_SPECIAL, ids, n_ids, err);
	mem_free(text);
	mem_free(plain);
	return rc;
}
