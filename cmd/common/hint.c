/* common/hint.c - model names in the notation of other programs. */
#include "common/hint.h"
#include "base/err.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_PART_BYTES = 96 };

/* Return the length of the part of a name before a character of `ends`; 0 if that part is not valid. */
static size_t part_length(const char *s, const char *ends)
{
	size_t n = strcspn(s, ends);

	if (!n || n > MAX_PART_BYTES || !isalnum((unsigned char)*s))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i]))
			return 0;
	return n;
}

static int ends_in(const char *s, size_t n, const char *ending)
{
	size_t k = strlen(ending);

	return n >= k && !strncasecmp(s + n - k, ending, k);
}

/* True if the name has the ending of a model file; repositories have no such names. */
static int is_file_name(const char *s, size_t n)
{
	static const char *const endings[] = { ".gguf", ".safetensors", ".bin",  ".zst",
		                               ".pt",   ".pth",         ".onnx", ".json" };

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (ends_in(s, n, endings[i]))
			return 1;
	return 0;
}

/* Return s after one of the prefixes, case ignored; NULL if it has none of them. */
static const char *after_prefix(const char *s, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (!strncasecmp(s, *prefixes, strlen(*prefixes)))
			return s + strlen(*prefixes);
	return NULL;
}

/* Refuse ORG/REPO[:QUANT] and ORG/REPO/FILE. address: 1 if s is the path of a URL of the hub. */
static int hint_hub(const char *s, int address, const char *before, infer_error *err)
{
	static const char *const views[] = { "blob/", "resolve/", "tree/", "raw/", NULL };
	size_t org = part_length(s, "/"),
	       repo = s[org] == '/' ? part_length(s + org + 1, "/:?#@") : 0, n = org + 1 + repo;
	char more[288] = "";

	if (!org || !repo)
		return INFER_OK;
	const char *rest = s + n, *view = *rest == '/' ? after_prefix(rest + 1, views) : NULL;

	if ((*rest == ':' || *rest == '@') && rest[1]) {
		snprintf(more, sizeof more, "%.200s", rest);
	} else if (address && view) {
		size_t rev = strcspn(view, "/?#"), file = strcspn(view + rev, "?#");
		int is_main = !rev || (rev == 4 && !memcmp(view, "main", 4));

		snprintf(more, sizeof more, "%s%.*s%s%.*s", is_main ? "" : "@",
		         is_main ? 0 : (int)(rev < 120 ? rev : 120), view, file > 1 ? ":" : "",
		         file > 1 ? (int)(file - 1 < 160 ? file - 1 : 160) : 0, view + rev + 1);
	} else if (*rest == '/' && !address) {
		if (!is_file_name(rest, strlen(rest)))
			return INFER_OK;
		snprintf(more, sizeof more, ":%.200s", rest + 1);
	} else if (!*rest && !address && is_file_name(s, n)) {
		return INFER_OK; /* FOLDER/FILE.gguf, not a repository */
	}
	return err_set(err, INFER_EIO, "no such file; for the hub: %shf:%.*s%s", before, (int)n, s,
	               more);
}

/* Refuse NAME:TAG, the notation of Ollama. */
static int hint_ollama(const char *s, const char *before, infer_error *err)
{
	size_t name = part_length(s, ":"), tag = s[name] == ':' ? part_length(s + name + 1, "") : 0;

	if (!name || !tag || name == 1 || s[name + 1 + tag])
		return INFER_OK;
	return err_set(err, INFER_EIO, "no such file; for a model of Ollama: %sollama:%s", before,
	               s);
}

/* True if the first folder of a path exists. */
static int has_folder(const char *s)
{
	char folder[MAX_PART_BYTES + 1];
	size_t n = strcspn(s, "/");

	if (n > MAX_PART_BYTES)
		return 0;
	memcpy(folder, s, n);
	folder[n] = 0;
	return !access(folder, F_OK);
}

int model_hint(const char *ref, const char *before, infer_error *err)
{
	static const char *const hub[] = { "https://huggingface.co/",
		                           "http://huggingface.co/",
		                           "https://www.huggingface.co/",
		                           "https://hf.co/",
		                           "huggingface.co/",
		                           "hf.co/",
		                           "huggingface://",
		                           "huggingface:",
		                           "hf/",
		                           "hf:", /* HF: */
		                           NULL };
	static const char *const ollama[] = { "https://ollama.com/library/",
		                              "https://ollama.com/",
		                              "ollama.com/library/",
		                              "ollama.com/",
		                              "registry.ollama.ai/library/",
		                              "registry.ollama.ai/",
		                              "ollama/",
		                              NULL };
	static const char *const others[] = { "datasets/", "spaces/", NULL };
	static const char *const docker[] = { "docker://", "docker:",    "oci://",
		                              "ai/",       "docker.io/", NULL };
	static const char *const url[] = { "https://", "http://", "ftp://", "file://", NULL };
	const char *rest;

	if (!access(ref, F_OK) || has_folder(ref))
		return INFER_OK;
	if ((rest = after_prefix(ref, hub))) {
		if (after_prefix(rest, others))
			return err_set(err, INFER_EIO, "%.160s is not the address of a model", ref);
		TRY(hint_hub(rest, 1, before, err));
	}
	if ((rest = after_prefix(ref, ollama)) && part_length(rest, ":/"))
		return err_set(err, INFER_EIO,
		               "no such file; for a model of Ollama: %sollama:%.160s", before,
		               rest);
	if (after_prefix(ref, url))
		return err_set(err, INFER_EIO,
		               "%.120s is an address: download the file, or name a model of the "
		               "hub: %shf:ORG/REPO",
		               ref, before);
	if (after_prefix(ref, docker))
		return err_set(err, INFER_EIO,
		               "%.120s: models of Docker's registry are not read; for the hub: "
		               "%shf:ORG/REPO",
		               ref, before);
	return strchr(ref, '/') ? hint_hub(ref, 0, before, err) : hint_ollama(ref, before, err);
}
