/* fuzz_safetensors.c - libFuzzer entry for safetensors: any bytes either give tensors that are all there, or errors. */
#include "fuzz_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_store("model.safetensors", data, size);
    fuzz_open("model.safetensors");
    return 0;
}
