/* infer-inspect/hub.c - pull, list and rm: models of the hub and their cache. */
#include "inspect.h"
#include "common/hint.h"
#include "common/model.h"
#include "common/say.h"
#include "base/err.h"

#include <string.h>
#include <time.h>

static int fail_without_model(const char *what, const char *form, infer_error *err)
{
	return err_set(err, INFER_EINVAL, "%s needs a model: infer-inspect %s %s", what, what,
	               form);
}

/* Print each path as soon as its model is downloaded. */
int pull(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words, int *differs,
         infer_error *err)
{
	const char *path;

	(void)o;
	(void)differs;
	if (!words->n_words)
		return fail_without_model("pull", "hf:ORG/REPO[@REV][:FILE-OR-QUANT]", err);
	for (int i = 0; i < words->n_words; i++) {
		if (!infer_hub_is_ref(words->words[i])) {
			TRY(model_hint(words->words[i], "infer-inspect pull ", err));
			return err_set(err, INFER_EINVAL,
			               "%.120s: must be a model of the hub: hf:ORG/REPO",
			               words->words[i]);
		}
		TRY(model_path(&path, words->words[i], MODEL_NAMED, err));
		buf_clear(out);
		buf_printf(out, "%s\n", path);
		if (out->bad)
			return err_set(err, INFER_ENOMEM, "out of memory for a path");
		TRY(say_out(out->at, out->len, err));
	}
	buf_clear(out);
	return INFER_OK;
}

/* ---- list ---- */

struct listing {
	struct buf *out;
	int json;
};

/* Append the reference that names a snapshot: with its first branch or tag, else with its commit. */
static void put_ref(struct buf *out, const struct infer_hub_model *m)
{
	int n = (int)strcspn(m->refs, ",");

	if (n == 4 && !memcmp(m->refs, "main", 4))
		buf_printf(out, "hf:%s", m->repo);
	else if (n)
		buf_printf(out, "hf:%s@%.*s", m->repo, n, m->refs);
	else
		buf_printf(out, "hf:%s@%s", m->repo, m->commit);
}

/* Describe a snapshot without GGUF models: rm may leave files that belong to no model. */
static const char *other_contents(const struct infer_hub_model *m)
{
	static const char weights[] = ".safetensors";
	size_t n = sizeof weights - 1;

	for (size_t i = 0; i < m->n_files; i++) {
		size_t k = strlen(m->files[i].path);

		if (k > n && !strcmp(m->files[i].path + k - n, weights))
			return "directory";
	}
	return m->n_files ? "other files" : "nothing complete";
}

static void put_model_line(struct buf *out, const struct infer_hub_model *m)
{
	char day[32] = "-";
	struct buf size;
	struct tm tm;
	time_t t = (time_t)m->used_s;

	if (t && localtime_r(&t, &tm))
		strftime(day, sizeof day, "%Y-%m-%d", &tm);
	buf_init(&size, MEM_BASE);
	put_size(&size, m->bytes);
	out->bad |= size.bad;
	buf_printf(out, "%10s  %-10s  ", size.at ? size.at : "", day);
	buf_fini(&size);
	put_ref(out, m);
	buf_printf(out, "  %s\n", *m->quants ? m->quants : other_contents(m));
}

static void put_model_json(struct buf *out, const struct infer_hub_model *m)
{
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_MODEL, out->len ? 0 : INFER_RECORD_FIRST);
	jw_str(&w, "repo", m->repo);
	jw_str(&w, "commit", m->commit);
	jw_array(&w, "refs");
	for (const char *s = m->refs; *s; s += strspn(s, ", ")) {
		size_t n = strcspn(s, ",");

		jw_strn(&w, NULL, s, n);
		s += n;
	}
	jw_end(&w);
	jw_uint(&w, "bytes", m->bytes);
	jw_int(&w, "used", m->used_s);
	jw_array(&w, "files");
	for (size_t i = 0; i < m->n_files; i++) {
		jw_object(&w, NULL);
		jw_str(&w, "path", m->files[i].path);
		jw_uint(&w, "bytes", m->files[i].bytes);
		jw_end(&w);
	}
	jw_end(&w);
	infer_record_close(&w);
}

static int add_model(void *user, const struct infer_hub_model *m, infer_error *err)
{
	struct listing *l = user;

	(l->json ? put_model_json : put_model_line)(l->out, m);
	return l->out->bad ? err_set(err, INFER_ENOMEM, "out of memory for a list") : INFER_OK;
}

int list(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words, int *differs,
         infer_error *err)
{
	const struct infer_hub_opts *hub;
	struct listing l = { out, o->json };

	(void)differs;
	if (words->n_words)
		return err_set(err, INFER_EINVAL, "list takes no argument: '%.60s'",
		               words->words[0]);
	TRY(model_hub_opts(&hub, err));
	TRY(infer_hub_list(hub, add_model, &l, err));
	if (!out->len && !o->json)
		say_note(0, "no model in %s", hub->cache ? hub->cache : "the cache");
	return INFER_OK;
}

int rm(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words, int *differs,
       infer_error *err)
{
	const struct infer_hub_opts *hub;
	uint64_t freed;

	(void)o;
	(void)differs;
	if (!words->n_words)
		return fail_without_model("rm", "ORG/REPO[@REV][:FILE-OR-QUANT]", err);
	TRY(model_hub_opts(&hub, err));
	for (int i = 0; i < words->n_words; i++) {
		TRY(infer_hub_remove(&freed, words->words[i], hub, err));
		buf_clear(out);
		put_bytes(out, freed);
		buf_printf(out, " freed\n");
		if (out->bad)
			return err_set(err, INFER_ENOMEM, "out of memory for a line");
		TRY(say_out(out->at, out->len, err));
	}
	buf_clear(out);
	return INFER_OK;
}
