/* model_hint.c - why a file is not the model that somebody thinks it is: what downloads leave behind, and folders. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <tern/model_file.h>

#include "source.h"
#include "term.h"

/* The GGUF files of a folder, some of them, unless it has a model as safetensors, with which something else is wrong. */
static void add_files_of(const char *path, text *out)
{
    enum { MOST = 3 };
    DIR *folder = opendir(path);
    text names = {0};
    int n = 0;
    bool other = false, torch = false;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        other = other || strncmp(entry->d_name, "model.safetensors", 17) == 0;
        torch = torch || strncmp(entry->d_name, "pytorch_model", 13) == 0;
        if (!text_ends_in(entry->d_name, ".gguf") || n++ > MOST)
            continue;
        text_addf(&names, "%s%s", n == 1 ? "" : ", ", n > MOST ? "..." : entry->d_name);
    }
    if (folder)
        closedir(folder);
    if (n > 0 && !other)
        text_addf(out, "; it has %s: name the file, not the folder", text_string(&names));
    else if (torch && !other)
        text_add(out, "; PyTorch's files cannot be read: save the model as safetensors");
    text_free(&names);
}

/* What it is instead of a model: what a server or Git said, or a checkpoint of PyTorch's, which is a zip archive. */
static void add_kind(const char *path, text *out)
{
    static const char pointer[] = "version https://git-lfs";
    char head[256] = "";
    FILE *file = fopen(path, "rb");
    if (!file)
        return;
    head[fread(head, 1, sizeof head - 1, file)] = '\0';
    fclose(file);
    const char *word = head + strspn(head, " \t\r\n");
    if (strncmp(head, pointer, strlen(pointer)) == 0)
        text_add(out,
                 "; it is what Git LFS keeps in a model's place: fetch the file itself with 'git lfs pull'");
    else if (strncasecmp(word, "<!doctype html", 14) == 0 || strncasecmp(word, "<html", 5) == 0)
        text_add(out, "; it is a web page: the link of the file itself is another one (on Hugging Face it "
                      "has /resolve/, not /blob/)");
    else if (memcmp(head, "PK\003\004", 4) == 0)
        text_add(out, "; it is a zip archive, as PyTorch's checkpoints are: save the model as safetensors");
}

/* The first of several parts may have none, and says what it is. */
static bool has_no_tensors(const char *path)
{
    tern_model_file *file;
    int entry;
    if (tern_model_file_open(path, NULL, &file) != TERN_OK)
        return false;
    bool none =
        tern_model_file_count(file) == 0 && tern_model_file_meta_find(file, "split.count", &entry) != TERN_OK;
    tern_model_file_close(file);
    return none;
}

int fail_model(const char *path, const char *otherwise)
{
    struct stat info;
    text line = {0};
    if (!*path)
        return fail("-m '': the name of a model's file is empty");
    const bool there = stat(path, &info) == 0;
    const char *words = last_words();
    const size_t named = strlen(path);
    /* In the words that other files are missed with. */
    if (!there && strncmp(words, path, named) == 0 && strncmp(words + named, ": ", 2) == 0)
        text_addf(&line, "cannot open '%s': %s", path, words + named + 2);
    else
        text_add(&line, words);
    if (there && S_ISDIR(info.st_mode)) {
        add_files_of(path, &line);
    } else if (there && S_ISREG(info.st_mode)) {
        const size_t before = line.length;
        add_kind(path, &line);
        if (line.length == before && otherwise)
            text_add(&line, otherwise);
        if (has_no_tensors(path)) {
            text_clear(&line);
            text_addf(&line,
                      "%s: it has no tensors, so it is no model; its tokenizer, if it has one, can be used "
                      "with --tokenizer",
                      path);
        }
    }
    int code = fail("%s", text_string(&line));
    text_free(&line);
    return code;
}
