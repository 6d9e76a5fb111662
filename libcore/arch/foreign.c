/* arch/foreign.c - refuse files that are not text models, or that contain a vision model. */
#include "arch/arch.h"
#include "base/err.h"
#include "file/file.h"

#include <stdio.h>
#include <string.h>

#define IMAGES \
	"a model of images and text in one file, as Ollama's converter writes it, is not " \
	"supported"
static const struct foreign {
	const char *name, *why;
} rows[] = {
	{ "clip",
	  "this is the projector for images of another file (mmproj), not a model of text" },
	{ "mllama", IMAGES },
	{ "qwen25vl", IMAGES },
	{ "qwen3vl", IMAGES },
	{ "qwen3vlmoe", IMAGES },
	{ "glmocr", IMAGES },
	{ "deepseekocr", IMAGES },
};

int arch_check_foreign(const infer_model *m, struct infer_str name, infer_error *err)
{
	const char *label = file_label(infer_file_path(m->file));
	char key[96];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (name.len == strlen(rows[i].name) && !memcmp(name.at, rows[i].name, name.len))
			return err_set(err, INFER_EUNSUP, "%s: architecture %s: %s", label,
			               rows[i].name, rows[i].why);
	if (name.len > 64)
		return INFER_OK;
	snprintf(key, sizeof key, "%.*s.vision.block_count", (int)name.len, name.at);
	if (infer_file_meta(m->file, key))
		return err_set(err, INFER_EUNSUP, "%s: key %s: " IMAGES, label, key);
	return INFER_OK;
}
