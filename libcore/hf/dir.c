/* hf/dir.c - open a directory as a model file: read its text files, then set keys and tensors. */
#include "base/err.h"
#include "base/jread.h"
#include "file/gguf.h"
#include "hf/packed.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Limits: values of a parsed text, bytes of a text, names in a folder, notes for -v. */
enum { VALUES_MAX = 300000, TEXT_MAX = 64 << 20, NAMES_MAX = 65536, NOTES_MAX = 64 };

int hf_fail(const struct hf_dir *d, const char *name, int code, infer_error *err, const char *fmt,
            ...)
{
	char why[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return err_set(err, code, "%s/%s: %s", file_label(d->path), name, why);
}

int hf_nomem(const struct hf_dir *d, infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "%s: out of memory", file_label(d->path));
}

/* Return "DIR/name" in d->brief; NULL: out of memory. */
static char *join_path(struct hf_dir *d, const char *name)
{
	size_t a = strlen(d->path), b = strlen(name);
	char *out = arena_raw(&d->brief, a + b + 2);

	while (a > 1 && d->path[a - 1] == '/')
		a--;
	if (out)
		snprintf(out, a + b + 2, "%.*s/%s", (int)a, d->path, name);
	return out;
}

int hf_text_read(struct hf_dir *d, const char *name, struct hf_text *t, infer_error *err)
{
	static const char lfs[] = "version https://git-lfs";
	const char *path = join_path(d, name);
	struct stat st;

	*t = (struct hf_text){ .name = name };
	if (!path)
		return hf_nomem(d, err);
	/* lstat: a dangling link is an error, not a missing file */
	if (lstat(path, &st) && (errno == ENOENT || errno == ENOTDIR))
		return INFER_OK;
	TRY(file_add_shard(d->f, path, err));
	struct file_shard *s = &d->f->shards[d->f->n_shards - 1];
	s->header_bytes = s->bytes;
	t->at = s->at ? (const char *)s->at : "";
	t->n = s->bytes;
	if (t->n >= sizeof lfs - 1 && !memcmp(t->at, lfs, sizeof lfs - 1))
		return hf_fail(d, name, INFER_EUNSUP, err,
		               "this is a git-lfs pointer, not the file: run `git lfs pull`");
	return INFER_OK;
}

/* Replace the literal Infinity, which Python writes but JSON lacks, by {"__float__":"Infinity"} as
 * newer versions of transformers do, in a copy in d->brief.  Sets *at and *n to it. */
static int replace_infinity(struct hf_dir *d, const char **at, size_t *n, infer_error *err)
{
	static const char word[] = "Infinity", before[] = "{\"__float__\":\"", after[] = "\"}";
	enum { WORD = sizeof word - 1, MORE = sizeof before + sizeof after };
	const char *from = *at, *end = from + *n;
	size_t found = 0;

	for (const char *p = from; (p = memmem(p, (size_t)(end - p), word, WORD)); p += WORD)
		found++;
	if (!found)
		return INFER_OK;
	char *copy = arena_raw(&d->brief, *n + found * MORE), *to = copy;
	if (!copy)
		return hf_nomem(d, err);
	for (int in_string = 0; from < end;) {
		size_t sign = *from == '-', left = (size_t)(end - from);
		if (!in_string && left >= WORD + sign && !memcmp(from + sign, word, WORD)) {
			to = stpcpy(to, before);
			to = mempcpy(to, from, WORD + sign);
			to = stpcpy(to, after);
			from += WORD + sign;
			continue;
		}
		if (in_string && *from == '\\' && left > 1)
			*to++ = *from++;
		else if (*from == '"')
			in_string = !in_string;
		*to++ = *from++;
	}
	*at = copy;
	*n = (size_t)(to - copy);
	return INFER_OK;
}

int hf_json_read(struct hf_dir *d, const struct hf_text *t, const struct json **v, infer_error *err)
{
	const char *at = t->at;
	size_t values = 1, n = t->n;
	infer_error why = { 0 };

	*v = NULL;
	if (!t->at)
		return INFER_OK;
	if (t->n > TEXT_MAX)
		return hf_fail(d, t->name, INFER_EFORMAT, err, "%zu bytes, more than %d", t->n,
		               TEXT_MAX);
	for (size_t i = 0; i < t->n; i++)
		values += t->at[i] == ',' || t->at[i] == '[' || t->at[i] == '{';
	if (values > VALUES_MAX)
		return hf_fail(d, t->name, INFER_EFORMAT, err, "more than %d values", VALUES_MAX);
	TRY(replace_infinity(d, &at, &n, err));
	int rc = jread(v, &d->brief, at, n, t->name, &why);
	return rc ? err_set(err, rc, "%s/%s", file_label(d->path), why.message) : INFER_OK;
}

static int compare_file_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Append the names in an open folder to *at, whose capacity is *cap. */
static int read_names(struct hf_dir *d, DIR *folder, const char ***at, int *n, infer_error *err)
{
	const struct dirent *e;
	int cap = 0;

	while ((e = readdir(folder))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (*n == NAMES_MAX)
			return err_set(err, INFER_EUNSUP, "%s: more than %d files",
			               file_label(d->path), NAMES_MAX);
		if (*n == cap) {
			const char **more =
				arena_alloc(&d->brief, cap ? 2 * (size_t)cap : 64, sizeof *more);
			if (!more)
				return hf_nomem(d, err);
			if (*n)
				memcpy(more, *at, (size_t)*n * sizeof *more);
			*at = more;
			cap = cap ? 2 * cap : 64;
		}
		(*at)[*n] = arena_strndup(&d->brief, e->d_name, strlen(e->d_name));
		if (!(*at)[(*n)++])
			return hf_nomem(d, err);
	}
	return INFER_OK;
}

int hf_list(struct hf_dir *d, const char *folder, const char *const **names, int *n,
            infer_error *err)
{
	const char *path = join_path(d, *folder ? folder : "."), **at = NULL;
	int rc;

	*names = NULL;
	*n = 0;
	if (!path)
		return hf_nomem(d, err);
	DIR *open = opendir(path);
	if (!open && (errno == ENOENT || errno == ENOTDIR))
		return INFER_OK;
	if (!open)
		return err_errno(err, errno, "%s", file_label(path));
	rc = read_names(d, open, &at, n, err);
	closedir(open);
	if (!rc && *n)
		qsort(at, (size_t)*n, sizeof *at, compare_file_names);
	*names = at;
	return rc;
}

int hf_note(struct hf_dir *d, infer_error *err, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (d->n_notes == NOTES_MAX)
		return INFER_OK;
	if (!d->notes)
		d->notes = arena_alloc(&d->arena, NOTES_MAX, sizeof *d->notes);
	if (!d->notes || !(d->notes[d->n_notes] = arena_strndup(&d->arena, line, strlen(line))))
		return hf_nomem(d, err);
	d->n_notes++;
	return INFER_OK;
}

/* Read additional_chat_templates/NAME.jinja. */
static int read_templates(struct hf_dir *d, infer_error *err)
{
	static const char folder[] = "additional_chat_templates", ending[] = ".jinja";
	const char *const *names;
	char name[384];
	int n;

	TRY(hf_list(d, folder, &names, &n, err));
	if (!n)
		return INFER_OK;
	d->more_templates = arena_alloc(&d->arena, (size_t)n, sizeof *d->more_templates);
	if (!d->more_templates)
		return hf_nomem(d, err);
	for (int i = 0; i < n; i++) {
		size_t len = strlen(names[i]);
		int all = snprintf(name, sizeof name, "%s/%s", folder, names[i]);

		if (len < sizeof ending || strcmp(names[i] + len - (sizeof ending - 1), ending) ||
		    all >= (int)sizeof name)
			return hf_fail(d, folder, INFER_EUNSUP, err,
			               "%.100s must be named NAME.jinja", names[i]);
		const char *kept = arena_strndup(&d->arena, name, (size_t)all);
		if (!kept)
			return hf_nomem(d, err);
		TRY(hf_text_read(d, kept, &d->more_templates[d->n_more++], err));
	}
	return INFER_OK;
}

/* Read the text files.  Their order must not change: the model's id depends on it. */
static int read_texts(struct hf_dir *d, infer_error *err)
{
	struct hf_text config, generation, tokenizer_config;
	const struct {
		const char *name;
		struct hf_text *to;
	} texts[] = {
		{ "config.json", &config },
		{ "generation_config.json", &generation },
		{ "tokenizer_config.json", &tokenizer_config },
		{ "tokenizer.json", &d->tokenizer },
		{ "tokenizer.model", &d->sentencepiece },
		{ "special_tokens_map.json", &d->special_tokens },
		{ "added_tokens.json", &d->added_tokens },
		{ "vocab.json", &d->vocab },
		{ "merges.txt", &d->merges },
		{ "chat_template.jinja", &d->template },
		{ "chat_template.json", &d->template_json },
		{ "quantize_config.json", &d->quants[0] },
		{ "quant_config.json", &d->quants[1] },
		{ "hf_quant_config.json", &d->quants[2] },
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		TRY(hf_text_read(d, texts[i].name, texts[i].to, err));
	if (!d->vocab.at)
		TRY(hf_text_read(d, "vocab.txt", &d->vocab, err));
	TRY(read_templates(d, err));
	TRY(hf_json_read(d, &config, &d->config, err));
	TRY(hf_json_read(d, &generation, &d->generation, err));
	TRY(hf_json_read(d, &tokenizer_config, &d->tokenizer_config, err));
	if (!json_is_object(d->config))
		return hf_fail(d, "config.json", INFER_EFORMAT, err, "must be a JSON object");
	if (d->generation && !json_is_object(d->generation))
		return hf_fail(d, generation.name, INFER_EFORMAT, err, "must be a JSON object");
	if (d->tokenizer_config && !json_is_object(d->tokenizer_config))
		return hf_fail(d, tokenizer_config.name, INFER_EFORMAT, err,
		               "must be a JSON object");
	d->text_config = d->config;
	return INFER_OK;
}

/* Fail if there is a vocabulary in an unsupported format; otherwise return INFER_OK. */
static int refuse_vocabulary(struct hf_dir *d, infer_error *err)
{
	static const char *const forms[] = { "vocab.json",     "vocab.txt",
		                             "merges.txt",     "vocab.bpe",
		                             "tekken.json",    ".tiktoken",
		                             "tiktoken.model", "spiece.model",
		                             "spm.model",      "sentencepiece.bpe.model" };
	const char *const *names;
	int n;

	TRY(hf_list(d, "", &names, &n, err));
	for (int i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
			size_t a = strlen(names[i]), b = strlen(forms[k]);

			if (a >= b && !strcmp(names[i] + a - b, forms[k]))
				return hf_fail(d, names[i], INFER_EUNSUP, err,
				               "a vocabulary without tokenizer.json: transformers "
				               "makes one (AutoTokenizer.from_pretrained(DIR)."
				               "save_pretrained(DIR))");
		}
	return INFER_OK;
}

/* Read the vocabulary.  Without a vocabulary file the model has no vocabulary. */
static int read_vocabulary(struct hf_dir *d, infer_error *err)
{
	if (hf_sentencepiece_first(d))
		return hf_sentencepiece(d, err);
	if (d->tokenizer.at)
		return hf_tokenizer(d, err);
	return refuse_vocabulary(d, err);
}

/* Set f->meta: encode the keys as a GGUF header and parse it. */
static int set_meta(struct hf_dir *d, infer_error *err)
{
	struct file_shard s = { 0 };
	struct infer_file head = { .shards = &s, .n_shards = 1 };

	TRY(gguf_write_head(d->keys, &d->head, err));
	s.at = (const unsigned char *)d->head.at;
	s.bytes = d->head.len;
	return gguf_read(&head, 0, &d->f->meta, d->path, err);
}

static int read_directory(struct hf_dir *d, infer_error *err)
{
	TRY(hf_refuse_other(d, err));
	TRY(read_texts(d, err));
	TRY(hf_quant_find(d, err));
	TRY(gguf_write_new(&d->keys, d->path, err));
	TRY(hf_shards(d, err));
	TRY(hf_packed_gather(d, err));
	TRY(hf_keys(d, err));
	TRY(read_vocabulary(d, err));
	TRY(hf_special(d, err));
	TRY(set_meta(d, err));
	TRY(hf_tensors(d, err));
	file_trim(d->f);
	file_find_aux(d->f);
	d->f->private_bytes = d->private_bytes;
	d->f->notes = d->notes;
	d->f->n_notes = d->n_notes;
	return INFER_OK;
}

/* Free the memory that only the opening needs. */
static void drop_brief(struct hf_dir *d)
{
	gguf_write_free(d->keys);
	d->keys = NULL;
	safetensors_fini(&d->raw);
	for (int i = 0; i < HF_DENSE; i++)
		safetensors_fini(&d->dense[i]);
	arena_fini(&d->brief);
	d->config = d->generation = d->tokenizer_config = d->text_config = NULL;
}

static void close_hf(struct infer_file *f)
{
	struct hf_dir *d = f->own;

	if (!d)
		return;
	drop_brief(d);
	buf_fini(&d->head);
	if (d->copies)
		os_release(d->copies, d->copies_bytes);
	arena_fini(&d->arena);
	mem_free(d);
	f->own = NULL;
}

static int open_hf(struct infer_file *f, infer_error *err)
{
	struct hf_dir *d = mem_zalloc(MEM_FILE, 1, sizeof *d);

	if (!d)
		return err_set(err, INFER_ENOMEM, "%s: no memory", file_label(f->path));
	f->own = d;
	for (size_t n = strlen(f->path); n > 1 && f->path[n - 1] == '/'; n--)
		f->path[n - 1] = '\0'; /* records name the model by the last component */
	d->f = f;
	d->path = f->path;
	arena_init(&d->arena, MEM_FILE);
	arena_init(&d->brief, MEM_FILE);
	buf_init(&d->head, MEM_FILE);
	TRY(file_meta_init(&f->meta, err));
	if (map_init(&f->tensor_map, MEM_FILE, 512))
		return hf_nomem(d, err);
	TRY(read_directory(d, err));
	drop_brief(d);
	return INFER_OK;
}

static int is_hf_directory(const char *path, const struct os_stat *st, const unsigned char *head,
                           size_t n)
{
	(void)path;
	(void)head;
	(void)n;
	return st->kind == OS_DIRECTORY;
}

const struct format format_hf = {
	.name = "hf", .knows = is_hf_directory, .open = open_hf, .close = close_hf
};
