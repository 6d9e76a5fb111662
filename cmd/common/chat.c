/* common/chat.c - options for a conversation and its chat template. */
#include "common/chat.h"
#include "common/chatml.h"
#include "common/input.h"
#include "common/say.h"
#include "common/stored.h"
#include "base/err.h"
#include "base/jread.h"
#include <infer/reply.h>

#include <string.h>
#include <unistd.h>
#include <time.h>

/* The name of the template for requests with tools, as in transformers. */
static const char tool_use[] = "tool_use";

int chat_given(const struct chat_args *a)
{
	return a->system || a->messages || a->tools || a->template || a->args || a->think >= 0 ||
	       a->think_budget >= 0;
}

/* Append the contents of a file to b; "-" is standard input. */
static int read_whole(struct buf *b, const char *path, infer_error *err)
{
	const struct opt_list one = { .at = (const char *[]){ path }, .n = 1 };
	const struct opt_rest none = { 0 };

	return input_read(b, &none, &one, INPUT_NO_STDIN | INPUT_RAW, &input_file, err);
}

/* Find the template that --template names: one of the model file, or else a file, which is read into
 * *kept. */
static int find_template(struct infer_str *source, struct buf *kept, const char *what,
                         const infer_file *file, infer_error *err)
{
	infer_error why = { 0 };

	TRY(infer_chat_source(file, what, source, err));
	if (source->at)
		return INFER_OK;
	int rc = read_whole(kept, what, &why);

	if (rc)
		return err_set(err, rc, "%s%s", why.message,
		               strchr(what, '/') ? ""
		                                 : "; nor does the model name such a template");
	*source = (struct infer_str){ kept->at ? kept->at : "", kept->len };
	return INFER_OK;
}

static int open_given(infer_chat **out, const char *what, const infer_file *file, infer_error *err)
{
	struct infer_str source;
	struct buf kept;

	buf_init(&kept, MEM_BASE);
	int rc = find_template(&source, &kept, what, file, err);

	if (!rc)
		rc = infer_chat_open(out, source.at, source.len, what, err);
	buf_fini(&kept);
	return rc;
}

/* Find the template that the model's store (Ollama) has for the file. source->at stays NULL if none.
 * INFER_EUNSUP  the store has a template that cannot be used */
static int find_stored(struct infer_str *source, const infer_file *file, infer_error *err)
{
	const char *path = infer_file_path(file), *jinja = stored_template(path),
		   *slash = strrchr(path, '/');

	if (jinja && !*jinja)
		return err_set(
			err, INFER_EUNSUP,
			"%.40s...: has no chat template, and its Go template (Ollama) is "
			"not of a known family: give one in Jinja with --template FILE, or --raw",
			slash ? slash + 1 : path);
	if (jinja)
		*source = (struct infer_str){ jinja, strlen(jinja) };
	return INFER_OK;
}

/* Open a template of the model file by name (NULL: the default). *out: NULL if there is none. */
static int open_named(infer_chat **out, const infer_file *file, const char *name, infer_error *err)
{
	struct infer_str source;
	struct buf called;

	*out = NULL;
	TRY(infer_chat_source(file, name, &source, err));
	if (!source.at && !name)
		TRY(find_stored(&source, file, err));
	if (!source.at)
		return INFER_OK;
	buf_init(&called, MEM_BASE);
	buf_printf(&called, "%s: chat template%s%s", infer_file_path(file), name ? " " : "",
	           name ? name : "");
	int rc = called.bad ? err_set(err, INFER_ENOMEM, "out of memory for a chat template")
	                    : infer_chat_open(out, source.at, source.len, called.at, err);
	buf_fini(&called);
	return rc;
}

static int open_templates(struct chat *c, const struct chat_args *a, const infer_file *file,
                          infer_error *err)
{
	if (a->template)
		return open_given(&c->template, a->template, file, err);
	TRY(open_named(&c->with_tools, file, tool_use, err));
	return open_named(&c->template, file, NULL, err);
}

/* Open ChatML for a model that has no template. */
static int open_chatml(struct chat *c, const infer_tokenizer *t, infer_error *err)
{
	struct buf text;

	say_note(1, "the model has no chat template: conversations are written as ChatML");
	buf_init(&text, MEM_BASE);
	int rc = chatml_source(&text, t, err);

	if (!rc)
		rc = text.bad ? err_set(err, INFER_ENOMEM, "out of memory for a chat template")
		              : infer_chat_open(&c->template, text.at, text.len, "ChatML", err);
	buf_fini(&text);
	c->is_chatml = !rc;
	return rc;
}

int chat_source(struct buf *out, const struct chat_args *a, const infer_file *file,
                const infer_tokenizer *chatml, infer_error *err)
{
	struct infer_str source = { 0 };
	struct buf kept;
	int rc = INFER_OK;

	buf_init(&kept, MEM_BASE);
	if (a->template)
		rc = find_template(&source, &kept, a->template, file, err);
	else if (a->tools)
		rc = infer_chat_source(file, tool_use, &source, err);
	if (!rc && !source.at)
		rc = infer_chat_source(file, NULL, &source, err);
	if (!rc && !source.at)
		rc = find_stored(&source, file, err);
	if (!rc && source.at)
		buf_put(out, source.at, source.len);
	else if (!rc && chatml)
		rc = chatml_source(out, chatml, err);
	else if (!rc)
		rc = err_set(err, INFER_EUNSUP, "%s: has no chat template", infer_file_path(file));
	buf_fini(&kept);
	return rc;
}

static int check_args(const char *text, infer_error *err)
{
	infer_error why = { 0 };
	const struct json *j;
	struct arena mem;
	int rc, is_object;

	arena_init(&mem, MEM_BASE);
	rc = jread(&j, &mem, text, strlen(text), "--template-args", &why);
	is_object = json_is_object(j);
	arena_fini(&mem);
	if (rc == INFER_ENOMEM)
		return err_set(err, rc, "%s", why.message);
	if (rc || !is_object)
		return err_set(err, INFER_EINVAL, "%s",
		               rc ? why.message : "--template-args must be a JSON object");
	return INFER_OK;
}

int64_t chat_local_now(void)
{
	time_t now = time(NULL);
	struct tm tm = { 0 };

	localtime_r(&now, &tm);
	return (int64_t)now + tm.tm_gmtoff;
}

static int read_tools(infer_tools **out, const char *path, infer_error *err)
{
	struct buf text;
	int rc;

	buf_init(&text, MEM_BASE);
	rc = read_whole(&text, path, err);
	if (!rc)
		rc = infer_tools_read(out, text.at ? text.at : "", text.len, err);
	buf_fini(&text);
	return rc;
}

/* Refuse --system @FILE: other programs read FILE, but this one would use "@FILE" as the text. */
static int check_system(const char *text, infer_error *err)
{
	if (!text || *text != '@' || access(text + 1, F_OK))
		return INFER_OK;
	return err_set(err, INFER_EINVAL,
	               "--system takes a text, not a file: --system \"$(cat %.80s)\"", text + 1);
}

static int read_conversation(struct chat *c, const struct chat_args *a, infer_error *err)
{
	c->c = (struct infer_conversation){
		.system = a->system,
		.system_n = a->system ? strlen(a->system) : 0,
		.args = a->args,
		.args_n = a->args ? strlen(a->args) : 0,
		.think = a->think < 0 ? INFER_THINK_DEFAULT
		         : a->think   ? INFER_THINK_OFF
		                      : INFER_THINK_ON,
		.flags = INFER_CHAT_CONTINUE,
		.now = chat_local_now(),
	};
	TRY(check_system(a->system, err));
	if (a->args)
		TRY(check_args(a->args, err));
	if (a->messages && a->tools && !strcmp(a->messages, "-") && !strcmp(a->tools, "-"))
		return err_set(err, INFER_EINVAL,
		               "--messages and --tools cannot both be standard input");
	c->from_stdin =
		(a->messages && !strcmp(a->messages, "-")) || (a->tools && !strcmp(a->tools, "-"));
	if (a->messages) {
		TRY(read_whole(&c->messages, a->messages, err));
		c->c.messages = c->messages.at ? c->messages.at : "";
		c->c.messages_n = c->messages.len;
	}
	if (a->tools) {
		TRY(read_tools(&c->tools, a->tools, err));
		c->c.tools = c->tools;
	}
	return INFER_OK;
}

int chat_named(const char *messages, int rc, infer_error *err)
{
	infer_error why = *err;

	if (!rc || !messages || strncmp(why.message, "messages", 8))
		return rc;
	return err_set(err, rc, "%s: %s", strcmp(messages, "-") ? messages : "standard input",
	               why.message);
}

const infer_chat *chat_for(const struct chat *c, int tools)
{
	return tools && c->with_tools ? c->with_tools : c->template;
}

int chat_take(struct chat *out, const struct chat_args *a, const infer_file *file,
              const infer_tokenizer *chatml, infer_error *err)
{
	*out = (struct chat){ 0 };
	buf_init(&out->messages, MEM_BASE);
	TRY(open_templates(out, a, file, err));
	if (!out->template && chatml)
		TRY(open_chatml(out, chatml, err));
	if (!out->template && chat_given(a))
		return err_set(err, INFER_EUNSUP,
		               "the model has no chat template: give one with --template");
	if (!out->template)
		return INFER_OK;
	TRY(read_conversation(out, a, err));
	out->reason_limit = (int32_t)a->think_budget + 1;
	return infer_chat_check(chat_for(out, a->tools != NULL), &out->c, err);
}

void chat_apply_budget(struct chat *c)
{
	struct infer_chat_caps caps;
	const infer_chat *t = chat_for(c, c->c.tools != NULL);

	if (c->reason_limit != 1 || !t || c->c.think != INFER_THINK_DEFAULT)
		return;
	infer_chat_caps(t, &caps);
	if (caps.thinking)
		c->c.think = INFER_THINK_OFF;
}

int chat_warn_calls(const struct chat *c, const char *name, infer_error *err)
{
	const infer_chat *t = chat_for(c, 1);
	struct infer_chat_caps caps;
	int reads;

	if (!t)
		return INFER_OK;
	infer_chat_caps(t, &caps);
	TRY(infer_reply_reads(t, &reads, err));
	if (caps.tools && !reads)
		say_warning("%s%sthe chat template offers tools, but writes calls in a form that "
		            "is not known: calls in answers stay text",
		            name ? name : "", name ? ": " : "");
	return INFER_OK;
}

void chat_fini(struct chat *c)
{
	infer_chat_close(&c->template);
	infer_chat_close(&c->with_tools);
	buf_fini(&c->messages);
	infer_tools_free(c->tools);
}
