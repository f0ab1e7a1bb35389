using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using Azure.Storage.Sas;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace Tidemark.Tests.Hosting;

/// The logger of App Service, which appends to a blob for each hour through a signature of its container.
public sealed class Logs
{
    const string Site = "shop";

    [Fact]
    public async Task Lines_of_the_logger_are_appended_to_one_blob_in_their_order()
    {
        var container = await Containers.Fresh();
        using (var services = Logging(container))
        {
            var logger = services.GetRequiredService<ILoggerFactory>().CreateLogger("orders");
            logger.LogInformation("first");
            // The blob is there: what follows is appended to it.
            await Eventually.Holds(async () => (await Text(container)).Contains("first"), "the first line");
            for (var number = 0; number < 200; number++) logger.LogWarning("line {Number:000} äöü", number);
            await Eventually.Holds(async () => (await Text(container)).Contains("line 199"), "the last line");
        }
        var lines = (await Text(container)).Split('\n').Where(line => line.Contains("line ")).Select(line => line.Trim());
        Assert.Equal(Enumerable.Range(0, 200).Select(number => $"line {number:000} äöü"), lines.Select(line => line[line.IndexOf("line ")..]));
    }

    /// What App Service sets for a site whose logs go to a container.
    static ServiceProvider Logging(BlobContainerClient container)
    {
        var url = container.GenerateSasUri(BlobContainerSasPermissions.All, DateTimeOffset.UtcNow.AddHours(1));
        Environment.SetEnvironmentVariable("HOME", Path.Combine(Path.GetTempPath(), Site));
        Environment.SetEnvironmentVariable("WEBSITE_SITE_NAME", Site);
        Environment.SetEnvironmentVariable("WEBSITE_INSTANCE_ID", "0123456789abcdef");
        Environment.SetEnvironmentVariable("APPSETTING_DIAGNOSTICS_AZUREBLOBCONTAINERSASURL", url.AbsoluteUri);
        Environment.SetEnvironmentVariable("AzureBlobEnabled", "true");
        Environment.SetEnvironmentVariable("AzureBlobTraceLevel", "Information");
        return new ServiceCollection().AddLogging(logging => logging.AddAzureWebAppDiagnostics()).BuildServiceProvider();
    }

    static async Task<string> Text(BlobContainerClient container)
    {
        var text = "";
        await foreach (var blob in container.GetBlobsAsync())
        {
            Assert.Equal(BlobType.Append, blob.Properties.BlobType);
            Assert.StartsWith($"{Site}/", blob.Name);
            text += (await container.GetAppendBlobClient(blob.Name).DownloadContentAsync()).Value.Content.ToString();
        }
        return text;
    }
}
