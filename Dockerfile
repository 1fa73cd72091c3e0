# docker build -t welfare-env . && docker run -v "$PWD/runs:/work/runs" welfare-env self-play dove --games 5
FROM python:3.11-slim
RUN useradd --create-home player && mkdir /work && chown player /work
COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt '/src[lm,plot]' && rm -rf /src
USER player
WORKDIR /work
RUN welfare-env warm-up
ENTRYPOINT ["welfare-env"]
