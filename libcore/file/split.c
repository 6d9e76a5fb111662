/* file/split.c - read a split GGUF file.
 *
 * Shard i of n is NAME-%05d-of-%05d.gguf (.gguf.zst if compressed), a complete GGUF file with some
 * of the tensors.  The first one has the metadata.  Each has the keys split.no (from 0),
 * split.count and split.tensors.count. */
#include "base/err.h"
#include "file/gguf.h"

#include <stdio.h>
#include <string.h>

enum { SUFFIX = sizeof "-00001-of-00001.gguf" - 1, SHARDS_MAX = 65535 };
#define SHARD "-%05u-of-%05u.gguf"

static int get_count(const struct file_meta *meta, const char *path, const char *key, uint64_t *v,
                     infer_error *err)
{
	const struct infer_file f = { .meta = *meta, .path = (char *)path };
	int found;

	TRY(infer_meta_u64(&f, key, v, &found, err));
	if (!found)
		return err_set(err, INFER_EFORMAT,
		               "%s: part of a split model, but the key %s is missing",
		               file_label(path), key);
	return INFER_OK;
}

/* Check the keys that every shard must have. */
static int check_shard_keys(const struct file_meta *meta, const char *path, uint64_t no,
                            uint64_t count, uint64_t *tensors, infer_error *err)
{
	uint64_t its_no, its_count, its_tensors;

	TRY(get_count(meta, path, "split.no", &its_no, err));
	TRY(get_count(meta, path, "split.count", &its_count, err));
	TRY(get_count(meta, path, "split.tensors.count", &its_tensors, err));
	if (no == 0)
		*tensors = its_tensors;
	if (its_no != no || its_count != count || its_tensors != *tensors)
		return err_set(err, INFER_EFORMAT,
		               "%s: not a shard of this model: it is %llu of %llu (%llu tensors), "
		               "must be %llu of %llu (%llu)",
		               file_label(path), (unsigned long long)its_no + 1,
		               (unsigned long long)its_count, (unsigned long long)its_tensors,
		               (unsigned long long)no + 1, (unsigned long long)count,
		               (unsigned long long)*tensors);
	return INFER_OK;
}

/* Check that a later shard, if it repeats the architecture, has the same. */
static int check_arch(const struct infer_file *f, const struct file_meta *meta, const char *path,
                      infer_error *err)
{
	const struct infer_meta *a = infer_file_meta(f, "general.architecture"),
				*b = file_meta_get(meta, "general.architecture");

	if (a && b &&
	    (file_value(a)->bytes != file_value(b)->bytes ||
	     memcmp(file_value(a)->at, file_value(b)->at, file_value(a)->bytes)))
		return err_set(err, INFER_EFORMAT, "%s: a shard of another architecture",
		               file_label(path));
	return INFER_OK;
}

/* Read shard `no` of f; *kept: the one that is open already. */
static int read_numbered_shard(struct infer_file *f, uint64_t no, uint64_t count, const char *path,
                               struct file_shard *kept, uint64_t *tensors, infer_error *err)
{
	struct file_meta own = { 0 }, *meta = no ? &own : &f->meta;
	int rc;

	TRY(kept->path && !strcmp(kept->path, path) ? file_take_shard(f, kept, err)
	                                            : gguf_add_shard(f, path, err));
	TRY(file_meta_init(meta, err));
	rc = gguf_read(f, (int)no, meta, path, err);
	/* duplicate tensors: probably a shard of another model */
	if (!rc || (rc == INFER_EFORMAT && file_meta_get(meta, "split.tensors.count"))) {
		int what = check_shard_keys(meta, path, no, count, tensors, err);
		rc = what ? what : rc;
	}
	if (!rc)
		rc = check_arch(f, meta, path, err);
	file_meta_fini(&own);
	return rc;
}

/* Read all shards in order.  path: path of a shard; at: its number in path. */
static int read_shards(struct infer_file *f, char *path, char *at, uint64_t count,
                       struct file_shard *kept, infer_error *err)
{
	char suffix[SUFFIX + 1];
	uint64_t tensors = 0;

	if (map_init(&f->tensor_map, MEM_FILE, 64))
		return err_set(err, INFER_ENOMEM, "%s: no memory for the tensor table",
		               file_label(f->path));
	for (uint64_t i = 0; i < count; i++) {
		snprintf(suffix, sizeof suffix, SHARD, (unsigned)i + 1, (unsigned)count);
		memcpy(at, suffix, SUFFIX);
		if (i == 0)
			memcpy(f->path, path, strlen(path));
		TRY(read_numbered_shard(f, i, count, path, kept, &tensors, err));
	}
	if (tensors != f->n_tensors)
		return err_set(err, INFER_EFORMAT,
		               "%s: %u tensors in %llu files, but split.tensors.count is %llu",
		               file_label(f->path), (unsigned)f->n_tensors,
		               (unsigned long long)count, (unsigned long long)tensors);
	return INFER_OK;
}

int gguf_read_split(struct infer_file *f, infer_error *err)
{
	size_t n = strlen(f->path),
	       zst = n > 4 && !strcmp(f->path + n - 4, ".zst") ? sizeof ".zst" - 1 : 0;
	char suffix[SUFFIX + sizeof ".zst"];
	struct file_shard kept;
	uint64_t no, count;

	TRY(get_count(&f->meta, f->path, "split.count", &count, err));
	TRY(get_count(&f->meta, f->path, "split.no", &no, err));
	if (!f->shards[0].path)
		return err_set(err, INFER_EUNSUP, "%s: a split model in memory",
		               file_label(f->path));
	if (count > SHARDS_MAX || no >= count)
		return err_set(err, INFER_EFORMAT, "%s: its keys make it shard %llu of %llu",
		               file_label(f->path), (unsigned long long)no + 1,
		               (unsigned long long)count);
	snprintf(suffix, sizeof suffix, SHARD "%s", (unsigned)no + 1, (unsigned)count,
	         zst ? ".zst" : "");
	if (n < SUFFIX + zst || strcmp(f->path + n - SUFFIX - zst, suffix))
		return err_set(err, INFER_EFORMAT,
		               "%s: shard %llu of %llu, but its name does not end in %s",
		               file_label(f->path), (unsigned long long)no + 1,
		               (unsigned long long)count, suffix);
	char *path = mem_strndup(MEM_FILE, f->path, n);
	if (!path)
		return err_set(err, INFER_ENOMEM, "%s: no memory", file_label(f->path));
	kept = f->shards[0]; /* keep it, so that it is not unpacked twice */
	f->n_shards = 0;
	file_drop(f);
	int rc = read_shards(f, path, path + n - SUFFIX - zst, count, &kept, err);
	file_drop_shard(&kept);
	mem_free(path);
	return rc;
}
