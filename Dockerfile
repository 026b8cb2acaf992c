# A static binary on an empty image: nothing else to keep up to date, no shell, no root.
#
#   docker build -t namesrv .
#   docker run -p 9876:9876 -v namesrv:/data namesrv
#
# The image of the build stage is an argument, for those who mirror or make their own.
ARG GO_IMAGE=golang:1.26
FROM ${GO_IMAGE} AS build
ARG GOPROXY
ARG GOSUMDB
ARG GOFLAGS
ARG VERSION
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Without version control in the image; VERSION stands in for the commit.
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /out/namesrv ./cmd/namesrv
# A named volume takes its owner from the folder in the image.
RUN mkdir -p /out/data

FROM scratch
COPY --from=build /out/namesrv /namesrv
COPY --from=build --chown=10001:10001 /out/data /data
USER 10001:10001
# PATH: the program is the only file there is.
ENV NAMESRV_DATA_DIR=/data HOME=/data PATH=/
VOLUME /data
EXPOSE 9876 9875 9874
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["/namesrv", "healthcheck", "--timeout", "2s"]
ENTRYPOINT ["/namesrv"]
CMD ["server"]
