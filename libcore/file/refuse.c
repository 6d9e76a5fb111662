/* file/refuse.c - messages for files that are not models, by their first bytes. */
#include "base/err.h"
#include "base/num.h"
#include "file/file.h"

#include <string.h>

static int begins(const unsigned char *at, size_t n, const char *with, size_t bytes)
{
	return n >= bytes && !memcmp(at, with, bytes);
}

/* True for an HTML tag, after an optional byte order mark and white space. */
static int is_html(const unsigned char *at, size_t n)
{
	static const char *const tags[] = { "<!doctype html", "<html", "<head", "<?xml" };
	size_t i = begins(at, n, "\xef\xbb\xbf", 3) ? 3 : 0;

	while (i < n && (at[i] == ' ' || (at[i] >= '\t' && at[i] <= '\r')))
		i++;
	for (size_t k = 0; k < sizeof tags / sizeof *tags; k++)
		if (n - i >= strlen(tags[k]) &&
		    !strncasecmp((const char *)at + i, tags[k], strlen(tags[k])))
			return 1;
	return 0;
}

/* True if the bytes begin with the length of a safetensors header, u64, and its '{'. */
static int is_safetensors(const unsigned char *at, size_t n)
{
	return n >= 9 && num_u64(at) >= 2 && num_u64(at) <= 100000000 && at[8] == '{';
}

/* True for a pickle of protocol 2 to 5, or a zip file with one among its first members, the newer
 * format of PyTorch. */
static int is_pickle(const unsigned char *at, size_t n)
{
	static const char member[] = "/data.pkl";

	if (n >= 3 && at[0] == 0x80 && at[1] >= 2 && at[1] <= 5)
		return 1;
	return begins(at, n, "PK\3\4", 4) && memmem(at, n, member, sizeof member - 1);
}

/* True for the protobuf message ModelProto of ONNX: the format version, then the producer name or
 * the graph. */
static int is_onnx(const unsigned char *at, size_t n)
{
	return n >= 4 && at[0] == 0x08 && at[1] > 0 && at[1] < 0x40 &&
	       ((at[2] == 0x12 && at[3] < 64) || at[2] == 0x3a);
}

#define CONVERT "convert it to GGUF (convert_hf_to_gguf.py of llama.cpp)"
static const struct known {
	const char *magic;
	size_t n;
	int (*is)(const unsigned char *at, size_t n); /* test of a format without a magic number */
	const char *what;
} knowns[] = {
	{ .is = is_html, .what = "this is an HTML page, not a model (a download that failed?)" },
	{ "version https://git-lfs", 23, NULL,
	  "this is a git-lfs pointer, not the file: run `git lfs pull`" },
	{ "\x28\xb5\x2f\xfd", 4, NULL, "compressed with zstd; unpack it first" },
	{ "\x1f\x8b", 2, NULL, "compressed with gzip; unpack it first with gunzip" },
	{ "\xfd"
	  "7zXZ",
	  5, NULL, "compressed with xz; unpack it first with unxz" },
	{ "BZh", 3, NULL, "compressed with bzip2; unpack it first with bunzip2" },
	{ .is = is_pickle, .what = "this is a PyTorch checkpoint: " CONVERT },
	{ "PK\3\4", 4, NULL, "this is a zip archive; unpack it first with unzip" },
	{ .is = is_safetensors,
	  .what = "this is a safetensors file: give the directory it is in, with its config.json" },
	{ .is = is_onnx, .what = "this is an ONNX model, which cannot be run; a GGUF file can" },
	{ "lmgg", 4, NULL, "this is a GGML file from before GGUF; get the model as GGUF" },
	{ "tjgg", 4, NULL, "this is a GGML file from before GGUF; get the model as GGUF" },
	{ "fmgg", 4, NULL, "this is a GGML file from before GGUF; get the model as GGUF" },
};

/* Return how many of the first bytes to quote, if they look like text; 0: they do not. */
static int quotable(const unsigned char *at, size_t n)
{
	int i = 0;

	for (; i < 24 && i < (int)n && at[i] != '\n' && at[i] != '\r'; i++)
		if (at[i] < ' ' || at[i] > '~')
			return 0;
	return i > 2 ? i : 0;
}

int file_refuse(const char *path, const unsigned char *head, size_t n, infer_error *err)
{
	const char *label = file_label(path);

	for (size_t i = 0; i < sizeof knowns / sizeof *knowns; i++)
		if (knowns[i].is ? knowns[i].is(head, n)
		                 : begins(head, n, knowns[i].magic, knowns[i].n))
			return err_set(err, INFER_EUNSUP, "%s: %s", label, knowns[i].what);
	if (n < 4)
		return err_set(err, INFER_EFORMAT, "%s: a file of %zu bytes is not a model", label,
		               n);
	const char *slash = strrchr(path, '/');
	int quoted = quotable(head, n);

	if (!strcmp(slash ? slash + 1 : path, "config.json"))
		return err_set(err, INFER_EUNSUP,
		               "%s: this describes a model: give the directory it is in, with its "
		               "weights",
		               label);
	if (quoted)
		return err_set(err, INFER_EFORMAT,
		               "%s: not a model file, but text: it begins with \"%.*s\"", label,
		               quoted, (const char *)head);
	return err_set(err, INFER_EFORMAT,
	               "%s: not a model file: it begins with %02x %02x %02x %02x", label, head[0],
	               head[1], head[2], head[3]);
}
