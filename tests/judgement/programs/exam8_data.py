"""Data for programs of the eighth examination whose own comes from a network, and what has to be changed in their sources: where they run, and for how long."""

import gzip
import json
import pathlib
import shutil

from exam5_data import IMAGES_OF_JAX, mnist_files
from exam6_data import make_mnist

HERE = pathlib.Path(__file__).resolve().parent
ON_THE_GPU = "import torch; torch.set_default_device('cuda')\n"
# What a program for a CPU says, and what it has to say on a GPU.
WORDS = (("torch.LongTensor", "torch.cuda.LongTensor"), ("torch.FloatTensor", "torch.cuda.FloatTensor"), ("torch.Tensor(", "torch.cuda.FloatTensor("),
         ("torch.from_numpy(", "torch.as_tensor("), (".numpy()", ".cpu().numpy()"))
FOR_A_CPU = ("jcjohnson/nn/dynamic_net.py", "nlp/1-2.Word2Vec/Word2Vec-Skipgram(Softmax).py", "nlp/3-2.TextLSTM/TextLSTM.py",
             "nlp/4-2.Seq2Seq(Attention)/Seq2Seq(Attention).py", "nlp/5-1.Transformer/Transformer.py", "morvan/tutorial-contents/302_classification.py",
             "morvan/tutorial-contents/403_RNN_regressor.py", "morvan/tutorial-contents/406_GAN.py")
NOTEBOOKS = ("equinox/docs/examples/train_rnn", "optax/examples/meta_learning")
# Fewer steps or a smaller size where a run would take too long, the device that comments name, no weights from a network, and a fact of the GPU that CUDA 13 does not tell.
CHANGES = (
    ("jcjohnson/autograd/two_layer_net_autograd.py", "torch.device('cpu')", "torch.device('cuda')"),
    ("jcjohnson/nn/two_layer_net_nn.py", "torch.device('cpu')", "torch.device('cuda')"),
    ("jcjohnson/tensor/two_layer_net_tensor.py", "torch.device('cpu')", "torch.device('cuda')"),
    ("nlp/1-2.Word2Vec/Word2Vec-Skipgram(Softmax).py", "range(5000)", "range(500)"),
    ("nlp/3-2.TextLSTM/TextLSTM.py", "range(1000)", "range(300)"),
    ("nlp/4-2.Seq2Seq(Attention)/Seq2Seq(Attention).py", "range(2000)", "range(40)"),
    ("nlp/5-1.Transformer/Transformer.py", "range(20)", "range(15)"),
    ("morvan/tutorial-contents/302_classification.py", "range(100)", "range(40)"),
    ("morvan/tutorial-contents/403_RNN_regressor.py", "range(100)", "range(20)"),
    ("morvan/tutorial-contents/406_GAN.py", "range(10000)", "range(150)"),
    ("jax/examples/advi.py", "range(100)", "range(40)"),
    ("jax/examples/mnist_vae.py", "num_epochs = 100", "num_epochs = 3"),
    ("optax/examples/meta_learning.py", "range(2000)", "range(100)"),
    ("byexample/chapter10/copy_timed.cu", "(64*1024*1024)", "(8*1024*1024)"),
    ("torchbench/torchbenchmark/util/framework/vision/model_factory.py", "(weights=weights)", "(weights=None)"),
    ("torchbench/torchbenchmark/util/framework/timm/model_factory.py", "pretrained=pretrained_weights", "pretrained=False"),
    ("shoc/src/cuda/common/main.cpp", "deviceProp.clockRate", "0"),
)


def change(file, pairs, first=""):
    text = file.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text or new in text, f"{file} has no {old}"
        text = text.replace(old, new)
    file.write_text(first + text, encoding="utf-8")


def put_on_the_gpu(file):
    text = file.read_text(encoding="utf-8")
    change(file, [pair for pair in WORDS if pair[0] in text], ON_THE_GPU)


def script_of(notebook):
    """What its cells run, without commands for a shell."""
    cells = json.loads(notebook.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    lines = [line for line in code.splitlines() if not line.startswith(("!", "%"))]
    notebook.with_suffix(".py").write_text("\n".join(lines) + "\n", encoding="utf-8")


def make(sources):
    for name in NOTEBOOKS:
        script_of(sources / name)
    for name in FOR_A_CPU:
        put_on_the_gpu(sources / name)
    for name, old, new in CHANGES:
        change(sources / name, [(old, new)])
    make_mnist(sources / "morvan" / "tutorial-contents" / "mnist", 3000, 2000)
    IMAGES_OF_JAX.mkdir(exist_ok=True)
    for name, content in mnist_files(3200, 1000):
        (IMAGES_OF_JAX / f"{name}.gz").write_bytes(gzip.compress(content, 1))
    shutil.copy(HERE / "exam8_train.py", sources / "vit")
