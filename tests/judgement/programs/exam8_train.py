"""Trains a model of vit-pytorch for some steps on random images, with the arguments that its README or its own test gives: exam8_train.py NAME --batch N --steps N"""

import argparse
import importlib

import torch
import torch.nn.functional as functional

COMMON = {"image_size": 256, "patch_size": 32, "num_classes": 1000, "dim": 1024, "depth": 6, "heads": 16, "mlp_dim": 2048}
DROPPING = {"dropout": 0.1, "emb_dropout": 0.1}
SQUARE = (3, 256, 256)
# The class in the module of that name, its arguments, and the shape of an image, where all have the same.
MODELS = {
    "simple_vit": ("SimpleViT", COMMON, SQUARE),
    "simple_vit_with_qk_norm": ("SimpleViT", COMMON, SQUARE),
    "look_vit": ("LookViT", {"image_size": 256, "num_classes": 1000, "dim": 512, "depth": 2, "heads": 8, "dim_head": 64, "patch_size": 32, "highres_patch_size": 8,
                             "highres_mlp_factor": 2, "cross_attn_heads": 8, "cross_attn_dim_head": 64, "dropout": 0.1}, SQUARE),
    "na_vit": ("NaViT", COMMON | DROPPING | {"token_dropout_prob": 0.1}, None),
    "xcit": ("XCiT", COMMON | DROPPING | {"depth": 12, "cls_depth": 2, "layer_dropout": 0.05, "local_patch_kernel_size": 3}, SQUARE),
    "cct": ("CCT", {"img_size": (224, 448), "embedding_dim": 384, "n_conv_layers": 2, "kernel_size": 7, "stride": 2, "padding": 3,
                    "pooling_kernel_size": 3, "pooling_stride": 2, "pooling_padding": 1, "num_layers": 14, "num_heads": 6, "mlp_ratio": 3.0,
                    "num_classes": 1000, "positional_embedding": "learnable"}, (3, 224, 448)),
    "regionvit": ("RegionViT", {"dim": (64, 128, 256, 512), "depth": (2, 2, 8, 2), "window_size": 7, "num_classes": 1000}, (3, 224, 224)),
    "vit_nd_rotary": ("ViTND", DROPPING | {"ndim": 5, "input_shape": (4, 8, 16, 32, 64), "patch_size": (2, 2, 4, 4, 8), "num_classes": 1000, "dim": 512,
                                           "depth": 6, "heads": 8, "mlp_dim": 2048, "channels": 3}, (3, 4, 8, 16, 32, 64)),
    "vat_siglip": ("SigLIPVAT", {"num_tasks": 4, "dim_extra_token": 32, "time_seq_len": 2, "num_views": 2, "depth": 4, "vit_layer_indices": (0, 1, 26, 27)}, None),
}


def images_of_many_sizes():
    """Five, in the groups that the README makes of them."""
    shapes = [[(256, 256), (128, 128)], [(128, 256), (256, 128)], [(64, 256)]]
    return [[torch.randn(3, *shape, device="cuda") for shape in group] for group in shapes]


def loss_of(name, model, batch, shape):
    if name == "vat_siglip":
        return model(torch.randn(batch, 2, 3, 2, 224, 224, device="cuda"), actions=torch.randn(batch, 50, 32, device="cuda"),
                     tasks=torch.randint(0, 4, (batch,), device="cuda"), extra=torch.randn(batch, 32, device="cuda"), freeze_vit=True)
    images = torch.randn(batch, *shape, device="cuda") if shape else images_of_many_sizes()
    return functional.cross_entropy(model(images), torch.randint(0, 1000, (batch,), device="cuda"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    kind, arguments, shape = MODELS[options.name]
    model = getattr(importlib.import_module(f"vit_pytorch.{options.name}"), kind)(**arguments).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    for step in range(options.steps):
        loss = loss_of(options.name, model, options.batch, shape)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
