/* job/fim.c - fill-in-the-middle prompts: the answer fills the gap between two texts
 *
 * Bavarian+ 2022, arXiv:2207.14255: <PRE> prefix <SUF> suffix <MID>.  If the vocabulary has tokens
 * for repositories, other files precede the prompt, each after a separator and its name. */
#include <infer/meta.h>
#include "job/job.h"
#include "base/err.h"

#include <string.h>

enum { PRE, SUF, MID, REP, SEP, FIM_TOKENS };

/* For each token of a prompt: the metadata keys that hold its id, and its possible texts. */
static const struct {
	const char *keys[2], *texts[5];
} tokens[FIM_TOKENS] = {
	[PRE] = { { "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id" },
	          { "<|fim_prefix|>", "<fim_prefix>", "<fim-prefix>",
	            "<\xef\xbd\x9c"
	            "fim\xe2\x96\x81"
	            "begin\xef\xbd\x9c>",
	            "\xe2\x96\x81<PRE>" } },
	[SUF] = { { "tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id" },
	          { "<|fim_suffix|>", "<fim_suffix>", "<fim-suffix>",
	            "<\xef\xbd\x9c"
	            "fim\xe2\x96\x81hole\xef\xbd\x9c>",
	            "\xe2\x96\x81<SUF>" } },
	[MID] = { { "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id" },
	          { "<|fim_middle|>", "<fim_middle>", "<fim-middle>",
	            "<\xef\xbd\x9c"
	            "fim\xe2\x96\x81"
	            "end\xef\xbd\x9c>",
	            "\xe2\x96\x81<MID>" } },
	[REP] = { { "tokenizer.ggml.fim_rep_token_id", NULL },
	          { "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<reponame>", NULL } },
	[SEP] = { { "tokenizer.ggml.fim_sep_token_id", NULL },
	          { "<|file_sep|>", "<|file_separator|>", NULL, NULL, NULL } },
};

static int32_t find_gap_token(const struct job *j, int which)
{
	const infer_tokenizer *t = infer_model_tokenizer(j->o->model);
	const infer_file *f = infer_model_file(j->o->model);
	uint64_t id;
	int found = 0;

	for (int i = 0; i < 2 && tokens[which].keys[i]; i++) {
		if (infer_meta_u64(f, tokens[which].keys[i], &id, &found, NULL) || !found)
			continue;
		return id < (uint64_t)infer_tokenizer_count(t) ? (int32_t)id : -1;
	}
	for (int i = 0; i < 5 && tokens[which].texts[i]; i++) {
		int32_t at =
			infer_token_find(t, tokens[which].texts[i], strlen(tokens[which].texts[i]));

		if (at >= 0)
			return at;
	}
	return -1;
}

struct gap {
	const struct job *j;
	int32_t token[FIM_TOKENS];
	struct buf ids;
	infer_error *err;
};

static void put_id(struct gap *g, int32_t id) { buf_put(&g->ids, &id, sizeof id); }

static int put_gap_text(struct gap *g, const char *text, size_t n, uint32_t flags)
{
	int32_t *ids;
	size_t n_ids;

	if (!n && !flags)
		return INFER_OK;
	TRY(infer_encode(infer_model_tokenizer(g->j->o->model), text, n, flags, &ids, &n_ids,
	                 g->err));
	if (n_ids)
		buf_put(&g->ids, ids, n_ids * sizeof *ids);
	infer_ids_free(ids);
	return INFER_OK;
}

static int put_gap_value(struct gap *g, const struct json *v)
{
	return put_gap_text(g, json_str(v), json_bytes(v), 0);
}

/* Append the other files of the repository. */
static int put_other_files(struct gap *g, const struct json *extra)
{
	const int repository = g->token[REP] >= 0 && g->token[SEP] >= 0;

	if (!json_count(extra))
		return INFER_OK;
	if (repository) {
		put_id(g, g->token[REP]);
		TRY(put_gap_text(g, "repository\n", 11, 0));
	}
	json_each(file, extra) {
		const struct json *name = json_get(file, "filename");

		if (repository) {
			put_id(g, g->token[SEP]);
			TRY(json_bytes(name) ? put_gap_value(g, name)
			                     : put_gap_text(g, "file", 4, 0));
			TRY(put_gap_text(g, "\n", 1, 0));
		}
		TRY(put_gap_value(g, json_get(file, "text")));
		TRY(put_gap_text(g, "\n", 1, 0));
	}
	if (!repository)
		return INFER_OK;
	put_id(g, g->token[SEP]);
	return put_gap_text(g, "current\n", 8, 0);
}

static int put_gap_prompt(struct gap *g, const struct fim *f)
{
	TRY(put_gap_text(g, "", 0, INFER_ENCODE_ADD));
	TRY(put_other_files(g, f->extra));
	put_id(g, g->token[PRE]);
	TRY(put_gap_value(g, f->before));
	put_id(g, g->token[SUF]);
	TRY(put_gap_value(g, f->behind));
	put_id(g, g->token[MID]);
	return f->begun ? put_gap_value(g, f->begun) : INFER_OK;
}

int job_read_gap(struct job *j, const struct fim *f, infer_error *err)
{
	struct gap g = { .j = j, .err = err };
	int32_t *ids = NULL;
	int rc;

	for (int i = 0; i < FIM_TOKENS; i++)
		g.token[i] = find_gap_token(j, i);
	if (g.token[PRE] < 0 || g.token[SUF] < 0 || g.token[MID] < 0)
		return err_set(err, INFER_EUNSUP, "the model has no fill-in-the-middle tokens");
	buf_init(&g.ids, MEM_JOB);
	rc = put_gap_prompt(&g, f);
	j->j.request.n_prompt = g.ids.len / sizeof *ids;
	if (!rc)
		ids = g.ids.bad ? NULL : arena_alloc(&j->mem, j->j.request.n_prompt, sizeof *ids);
	if (ids)
		memcpy(ids, g.ids.at, g.ids.len);
	buf_fini(&g.ids);
	TRY(rc);
	j->j.request.prompt = ids;
	return ids ? INFER_OK : err_nomem(err);
}
