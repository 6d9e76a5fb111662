#include "opts.h"
#include "common/confine.h"
#include "common/say.h"
#include "common/sig.h"
#include "base/err.h"
#include "base/utf8.h"
#include <string.h>

static const struct help_line lines[] = {
	{ "show", "format, sizes and metadata (what is done where nothing is named)" },
	{ "tensors", "the tensor table: types, shapes, offsets, sizes, bits per weight" },
	{ "tokens", "ids and pieces of a text" },
	{ "template", "what the chat template can do, and what it makes of a conversation" },
	{ "verify", "read the whole file: sha256, and that every weight is finite" },
	{ "hw", "processor, caches, limits and kernel sets" },
	{ NULL, NULL },
};
static const struct help_line examples[] = {
	{ "infer-inspect -m m.gguf", "what a file holds" },
	{ "infer-inspect tokens -m m.gguf some text", "how a text is cut" },
	{ "infer-inspect template -m m.gguf \"Why?\"", "a turn as the model reads it" },
	{ "infer-inspect tensors -m m.gguf --json", "records, for jq" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-inspect",
	.usage = "infer-inspect [show|tensors|tokens|template|verify|hw] [-m MODEL]\n"
		 "                     [OPTION]... [TEXT]...",
	.brief = "Look into a model file, or at this machine.",
	.subjects = lines,
	.examples = examples,
	.rows = inspect_rows,
};

static const struct subject subjects[] = {
	{ "show", .needs_file = 1, .run = show },
	{ "tensors", .needs_file = 1, .run = tensors },
	{ "tokens", .needs_file = 1, .takes_words = 1, .run = tokens },
	{ "template", .needs_file = 1, .takes_words = 1, .takes_talk = 1, .run = template },
	{ "verify", .needs_file = 1, .run = verify },
	{ "hw", .run = hw },
};

/* Take the subject off the words. */
static int subject_take(const struct subject **out, struct opt_rest *rest, infer_error *err)
{
	*out = &subjects[0];
	if (!rest->n_words)
		return INFER_OK;
	for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
		if (strcmp(subjects[i].name, rest->words[0]))
			continue;
		*out = &subjects[i];
		rest->words++;
		rest->n_words--;
		if (rest->n_words && !subjects[i].takes_words)
			return err_set(err, INFER_EINVAL, "%s takes no argument: '%.60s'",
			               subjects[i].name, rest->words[0]);
		return INFER_OK;
	}
	return err_set(err, INFER_EINVAL, "no subject '%.60s': -h lists them; a model goes with -m",
	               rest->words[0]);
}

static int inspect(const struct inspect_opts *o, struct opt_rest *rest, struct buf *out,
                   infer_error *err)
{
	const struct subject *s;
	infer_file *file = NULL;
	const char *path;

	TRY(subject_take(&s, rest, err));
	if (!s->takes_words && o->files.n)
		return err_set(err, INFER_EINVAL, "-f goes with tokens and template only");
	if ((!s->takes_words || s->takes_talk) && (o->no_stdin || o->raw || o->special || o->bos))
		return err_set(err, INFER_EINVAL,
		               "--no-stdin, --raw, --special and --bos go with tokens only");
	if (!s->takes_talk && (chat_given(&o->chat) || o->source))
		return err_set(err, INFER_EINVAL,
		               "--source and conversations go with template only");
	if (s->needs_file) {
		TRY(model_path(&path, o->model, MODEL_NAMED, err));
		sig_mapped(path);
		/* what reads a stranger's bytes opens no file but to read it, and from here on none
		 * at all; a subject with words opens more, and closes the rest itself */
		TRY(confine(CONFINE_TRY, SANDBOX_READ, err));
		TRY(infer_file_open(&file, path, err));
	}
	int rc = s->needs_file && !s->takes_words ? confine(CONFINE_TRY, 0, err) : INFER_OK;

	if (!rc)
		rc = s->run(out, o, file, rest, err);

	if (!rc && out->bad)
		rc = err_set(err, INFER_ENOMEM, "out of memory for the answer");
	if (!rc && out->len)
		rc = say_out(out->at, out->len, err);
	infer_file_close(&file);
	return rc;
}

int main(int argc, char **argv)
{
	struct inspect_opts o = { .chat = CHAT_ARGS };
	struct opt_rest rest;
	infer_error err = { 0 };
	struct buf out;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	buf_init(&out, MEM_BASE);
	code = inspect(&o, &rest, &out, &err) ? say_fail(&err) : EXIT_DONE;
	buf_fini(&out);
	opt_rest_fini(&rest);
	return say_end(code);
}
